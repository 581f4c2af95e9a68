//! Fusion: what each variant of a pattern gains over the pattern's unfused operations.

mod advice;
mod library;
mod product;
mod result;
pub mod text;

pub use advice::{Advice, OverControl, PatternAdvice, Point, VariantAdvice};
pub use product::{other_products, sdpa_dispatch};
pub use result::{Accounting, Bytes, Compared, FusionResult, saved};

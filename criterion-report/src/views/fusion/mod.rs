//! Fusion: what each variant of a pattern gains over the pattern's unfused operations.

mod advice;
mod product;
mod result;
pub mod text;

pub use advice::{Advice, OverControl, PatternAdvice, Point, VariantAdvice};
pub use result::{
    Accounting, Bytes, Compared, FusionItem, FusionResult, other_products, saved, sdpa_dispatch,
};

//! Fusion: what each variant of a pattern gains over the pattern's unfused operations.

mod advice;
mod dispatch;
mod document;
mod product;
mod result;

pub use advice::{Advice, OverControl, PatternAdvice, Point, VariantAdvice};
pub use dispatch::{SdpaDispatch, sdpa_dispatch};
pub use document::Strategy;
pub use product::{OtherProducts, other_products};
pub use result::{Bytes, Compared, FusionResult, Side};

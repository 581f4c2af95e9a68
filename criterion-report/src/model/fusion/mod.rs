//! Fusion: what each variant of a pattern gains over the pattern's unfused operations.

mod advice;
mod dispatch;
mod entry;
mod product;
mod result;

pub use advice::{Advice, OverControl, PatternAdvice, Point, VariantAdvice};
pub use dispatch::{SdpaDispatch, sdpa_dispatch};
pub use entry::{OverCase, SpeedupCase, VariantEntry};
pub use product::{OtherProducts, other_products};
pub use result::{FusionKey, FusionResult, Side};

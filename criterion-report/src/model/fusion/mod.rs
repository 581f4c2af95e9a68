//! Fusion: what each variant of a pattern gains over the pattern's unfused operations.

mod advice;
mod place;
mod result;

pub use advice::{Advice, PatternAdvice, Point, VariantAdvice};
pub use place::Place;
pub use result::{FusionKey, FusionResult, Side};

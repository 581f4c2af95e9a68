//! The closed vocabularies of a config. Each word is an enum with `ALL`, `as_str` and `FromStr`
//! side by side; a word outside its set is an error with a suggestion, never a default.

pub(crate) mod closed;
mod dtype;
mod model;
mod recipe;
mod settings;
mod sparsity;

pub use closed::UnknownWord;
#[cfg(feature = "configs")]
pub(crate) use closed::closest;
pub use dtype::Dtype;
pub use model::{Activation, ModelKind};
pub use recipe::{Int4Numerics, Int8Numerics, Recipe};
pub use settings::{
    Allocator, CacheMode, CompileMode, Device, Mode, ScalingGranularity, ScalingType,
};
pub use sparsity::Sparsity;

//! The closed vocabularies of a config. Each word is an enum with `ALL`, `as_str` and `FromStr`
//! side by side; a word outside its set is an error with a suggestion, never a default.

pub(crate) mod closed;
mod compile;
mod dtype;
mod model;
mod numerics;
mod recipe;
mod settings;
mod sparsity;

pub use closed::UnknownWord;
pub(crate) use closed::closest;
pub use compile::CompileMode;
pub use dtype::Dtype;
pub use model::{Activation, ModelKind};
pub use numerics::{Int4Numerics, Int8Numerics};
pub use recipe::Recipe;
pub use settings::{Allocator, CacheMode, Device, Mode, ScalingGranularity, ScalingType};
pub use sparsity::Sparsity;

//! The vocabularies of a config. Each closed one is an enum with `ALL`, `as_str` and `FromStr` side by
//! side; a word outside its set is an error with a suggestion, never a default. Recipes and models are
//! open: a package may bring its own.

pub(crate) mod closed;
mod decoder_block;
mod dtype;
mod layer_recipes;
mod model;
mod recipe;
mod settings;
mod sparsity;
mod spelling;
mod user;

pub use closed::UnknownWord;
#[cfg(feature = "configs")]
pub(crate) use closed::closest;
pub use decoder_block::DecoderBlock;
pub use dtype::Dtype;
pub use layer_recipes::{LayerRecipe, LayerRecipes};
pub use model::{Activation, ModelKind};
pub use recipe::{BlockFormat, Float8Recipe, Int4Numerics, Int8Numerics, Recipe};
pub use settings::{
    Allocator, CacheMode, CompileMode, Device, Judge, Mode, Pass, Regime, ScalingGranularity,
    ScalingType,
};
pub use sparsity::Sparsity;
pub use spelling::Spelling;
pub use user::UserWord;
pub(crate) use user::{LONGEST_WORD, is_plain};

/// A number of bytes with its unit, such as `16KiB`: the number, and the bytes of one unit.
pub fn with_unit_of_bytes(text: &str) -> Option<(&str, u64)> {
    const UNITS: [(&str, u64); 3] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
    let split = |(unit, bytes)| Some((text.strip_suffix(unit)?, bytes));
    UNITS.into_iter().find_map(split)
}

/// Each word once, in the order in which they came first.
pub fn without_repetition<T: PartialEq>(words: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found: Vec<T> = Vec::new();
    for word in words {
        if !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

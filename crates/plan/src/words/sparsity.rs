//! Sparsity layouts and what they may be combined with.

use std::{fmt, str::FromStr};

use super::Recipe;
use super::closed::{UnknownWord, schema_is, serde_as_word};

/// A sparse layout of the weights (`sparsity_config_recipe_names`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sparsity {
    /// The two smaller magnitudes of every four consecutive weights of a row are zero (`semi-sparse`,
    /// `2:4`).
    SemiSparse,
    /// The half of smaller norm of every row of 64×64 blocks of weights is zero.
    Block,
}

impl Sparsity {
    /// Every member.
    pub const ALL: &'static [Self] = &[Self::SemiSparse, Self::Block];

    /// The word in ids and files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SemiSparse => "semi-sparse",
            Self::Block => "block",
        }
    }

    /// Whether upstream measures this layout together with `recipe`: block sparsity stands alone
    /// on the baseline, 2:4 goes with int8dq, float8dq and the baseline.
    pub fn pairs_with(self, recipe: Recipe) -> bool {
        match self {
            Self::Block => recipe == Recipe::Baseline,
            Self::SemiSparse => matches!(
                recipe,
                Recipe::Baseline
                    | Recipe::Int8dq { .. }
                    | Recipe::Int8dqPrefillWoDecode
                    | Recipe::Float8dqTensor
                    | Recipe::Float8dqRow
            ),
        }
    }
}

impl FromStr for Sparsity {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        match text {
            "semi-sparse" | "2:4" => Ok(Self::SemiSparse),
            "block" => Ok(Self::Block),
            _ => Err(UnknownWord::new("sparsity", text, ["semi-sparse", "2:4", "block"])),
        }
    }
}

impl fmt::Display for Sparsity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

serde_as_word!(Sparsity);
schema_is!(Sparsity, schemars::json_schema!({ "type": "string", "minLength": 1 }));

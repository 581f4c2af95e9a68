//! Sparsity layouts and what they may be combined with.

use super::Recipe;
use super::closed::closed_set;

closed_set! {
    /// A sparse layout of the weights (`sparsity_config_recipe_names`).
    Sparsity, "sparsity" {
        /// The two smaller magnitudes of every four consecutive weights of a row are zero.
        SemiSparse = "semi-sparse" | "2:4",
        /// The half of smaller norm of every row of 64×64 blocks of weights is zero.
        Block = "block",
    }
}

impl Sparsity {
    /// The last version of torchao that had the layout, which upstream has removed since (ao#4728).
    pub const fn legacy(self) -> &'static str {
        match self {
            Self::SemiSparse | Self::Block => "0.18.0",
        }
    }

    /// Whether upstream measures this layout together with `recipe`: block sparsity stands alone
    /// on the baseline, 2:4 goes with int8dq, float8dq and the baseline. A recipe of a package says when
    /// it runs whether it has the layout.
    pub fn pairs_with(self, recipe: Recipe) -> bool {
        match self {
            _ if matches!(recipe, Recipe::User(_)) => true,
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

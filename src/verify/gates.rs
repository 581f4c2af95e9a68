//! Accuracy gates.

use plan::{Dtype, ModelKind, Recipe};

/// The smallest signal-to-noise ratio, in dB, that an output may have against its float64
/// reference, unless the config sets its own.
pub fn min_sqnr_db(_model: ModelKind, dtype: Dtype, recipe: Recipe) -> f64 {
    match (recipe, dtype) {
        (Recipe::Int8wo, _) => 38.0,
        (Recipe::Int8dq, _) => 35.0,
        (_, Dtype::Float32) => 100.0,
        (_, Dtype::BFloat16) => 45.0,
        (_, Dtype::Float16) => 60.0,
    }
}

//! Accuracy gates.

use plan::{Activation, Dtype, ModelKind, Recipe};

use crate::recipes;

/// The smallest signal-to-noise ratio, in dB, that an output may have against its float64
/// reference, unless the config sets its own.
///
/// The gates of the plain models are those that upstream's arithmetic is known to pass on normal
/// and uniform weights. Lowest values measured on CPU over seeds and shapes from 3×33×7 to
/// 2×16384×64, in dB:
///
/// | recipe   | dtype    | linear, ln_linear | sigmoid, transformer_block | gate    |
/// |----------|----------|-------------------|----------------------------|---------|
/// | baseline | float32  | 120.6             | 132.2                      | 100     |
/// | baseline | bfloat16 | 45.4              | 51.9                       | 45      |
/// | baseline | float16  | 64.4              | 70.0                       | 60      |
/// | int8wo   | any      | 41.9              | 50.4                       | 38 / 46 |
/// | int8dq   | any      | 35.9              | 46.5                       | 35 / 43 |
///
/// The lowest of each are outputs of 21 elements; from 32×256×96 on, the plain models stay above
/// 49.2 (baseline bfloat16), 43.5 (int8wo) and 37.9 (int8dq). Sigmoid's constant half and the
/// block's residual are exact and hide errors of the linear layers, hence the higher gates. Where
/// `_int_mm` saturates (a CPU without VNNI), int8dq reaches 12 to 21 dB, with sigmoid or in the
/// block 24 to 34.
pub fn min_sqnr_db(model: ModelKind, dtype: Dtype, recipe: Recipe) -> f64 {
    let hidden = match (model, recipe) {
        // Its gates are those of the dtype's own roundings.
        (_, Recipe::Baseline) => 0.0,
        (ModelKind::LnLinear(Activation::Sigmoid) | ModelKind::TransformerBlock, _) => 8.0,
        (ModelKind::Linear | ModelKind::LnLinear(_), _) => 0.0,
    };
    recipes::min_sqnr_db(recipe, dtype) + hidden
}

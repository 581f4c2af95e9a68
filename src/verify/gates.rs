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
///
/// Weights in groups of 32 to 2048, without and with HQQ; the first column is of linear layers from
/// 1×32×16 to 16×2048×64 that torchao itself computed, uniform and normal, the second of the models,
/// whose weights are uniform, from 3×64×16 to 16×256×64:
///
/// | recipe            | linear       | sigmoid, transformer_block | gate                |
/// |-------------------|--------------|----------------------------|---------------------|
/// | int4wo            | 12.6 / 12.9  | 33.6 / 34.1                | 10 / 18             |
/// | int4wo-tilepacked | 13.8         | 30.6                       | 8 / 16              |
/// | uintx-1           | −4.7 / −9.7  | 11.2 / 5.9                 | −8 / 0, −16 / −8    |
/// | uintx-2           | 1.7 / 2.0    | 19.8 / 19.3                | −2 / 6              |
/// | uintx-3           | 8.7 / 9.0    | 27.1 / 27.2                | 4 / 12              |
/// | uintx-4           | 15.4 / 15.8  | 33.5 / 34.0                | 10 / 18             |
/// | uintx-5           | 22.3 / 21.3  | 39.7 / 40.1                | 16 / 24             |
/// | uintx-6           | 27.5 / 28.4  | 45.1 / 45.1                | 22 / 30             |
/// | uintx-7           | 33.5 / 32.6  | 48.7 / 48.6                | 28 / 36             |
/// | uintx-8           | 38.0 / 39.2  | 50.1 / 50.2                | 34 / 42             |
///
/// Again the lowest are of outputs of a few dozen elements and of normal weights: from 16×512×64 on
/// int4wo stays above 18.1. Steps of int4wo-tilepacked are 2⁻⁷ at least, so uniform weights of a wide
/// layer lose: 11.8 dB at k = 4096, 9.2 at 8192, 6.1 at 16384, where the gate stops it. One bit
/// computes next to nothing, and its gate stops only what is far larger than the signal.
pub fn min_sqnr_db(model: ModelKind, dtype: Dtype, recipe: Recipe) -> f64 {
    let hidden = match (model, recipe) {
        // Its gates are those of the dtype's own roundings.
        (_, Recipe::Baseline) => 0.0,
        (ModelKind::LnLinear(Activation::Sigmoid) | ModelKind::TransformerBlock, _) => 8.0,
        (ModelKind::Linear | ModelKind::LnLinear(_), _) => 0.0,
    };
    recipes::min_sqnr_db(recipe, dtype) + hidden
}

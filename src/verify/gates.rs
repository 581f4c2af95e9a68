//! Accuracy gates.

use plan::{Activation, Dtype, ModelKind, Recipe};

use crate::recipes;

/// The smallest signal-to-noise ratio, in dB, that an output may have against its float64
/// reference, unless the config sets its own.
///
/// The gates of the plain models are those that upstream's arithmetic is known to pass on normal
/// and uniform weights. Lowest values measured on CPU, in dB. The baseline, over seeds
/// and shapes from 3×33×7 to 2×16384×64:
///
/// | recipe   | dtype    | linear, ln_linear | sigmoid, transformer_block | gate    |
/// |----------|----------|-------------------|----------------------------|---------|
/// | baseline | float32  | 120.6             | 132.2                      | 100     |
/// | baseline | bfloat16 | 45.4              | 51.9                       | 45      |
/// | baseline | float16  | 64.4              | 70.0                       | 60      |
///
/// The quantized recipes, in every dtype that they take, with the weights that the models start
/// from, over 60 seeds and shapes from 1×16×16 to 64×1024×256; `any` are outputs of 16 elements
/// and more, of which ReLU leaves a few, `large` those of 1024 and more:
///
/// | recipe                      | linear, ln_linear_relu: any | large | sigmoid: any | gate    |
/// |-----------------------------|-----------------------------|-------|--------------|---------|
/// | int8wo, -v2, -v018, +packed | 35.4                        | 43.8  | 49.4         | 33 / 41 |
/// | int8dq, -v2, -v018, decode  | 30.3                        | 39.5  | 45.4         | 28 / 36 |
/// | float8wo                    | 22.7                        | 31.4  | 39.9         | 20 / 28 |
/// | float8dq-tensor, -row       | 19.0                        | 28.0  | 35.8         | 16 / 24 |
///
/// Sigmoid's constant half and the transformer block's residual are exact and hide errors of the
/// linear layers, hence the higher gates. Where `_int_mm` saturates (a CPU without VNNI), int8dq
/// reaches 12 to 21 dB, with sigmoid or in the block 24 to 34; there it is refused before.
pub fn min_sqnr_db(model: ModelKind, dtype: Dtype, recipe: Recipe) -> f64 {
    let hidden = match (model, recipe) {
        // Its gates are those of the dtype's own roundings.
        (_, Recipe::Baseline) => 0.0,
        (ModelKind::LnLinear(Activation::Sigmoid) | ModelKind::TransformerBlock, _) => 8.0,
        (ModelKind::Linear | ModelKind::LnLinear(_), _) => 0.0,
    };
    recipes::min_sqnr_db(recipe, dtype) + hidden
}

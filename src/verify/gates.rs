//! Accuracy gates.

use plan::{Case, Dtype, ModelKind, ModelWork, Recipe, Work};

use crate::kernel::{Float, Shipped};
use crate::recipes::Product;
use crate::refusal::Refusal;
use crate::{models, recipes};

/// Outputs from which on a ratio is that of the recipe rather than of chance.
const MANY: usize = 1024;
/// The loss, in dB, that chance may cause in the ratio of fewer outputs.
const CHANCE_DB: f64 = 10.0;

/// The smallest signal-to-noise ratio, in dB, that a model's `outputs`, so many as are compared, may
/// have against their float64 reference, unless the config sets its own.
///
/// Lowest values measured on a CPU, in dB. The baseline, over seeds and shapes from 3×33×7 to
/// 2×16384×64:
///
/// | recipe   | dtype    | linear, ln_linear | sigmoid, transformer_block | gate |
/// |----------|----------|-------------------|----------------------------|------|
/// | baseline | float32  | 120.6             | 132.2                      | 100  |
/// | baseline | bfloat16 | 45.4              | 51.9                       | 45   |
/// | baseline | float16  | 64.4              | 70.0                       | 60   |
///
/// int8 and float8, in every dtype that they take, with the weights that the models start from, over
/// 60 seeds and shapes from 1×16×16 to 64×1024×256, linear and ln_linear_relu, by number of outputs;
/// the gates are for the two:
///
/// | recipe                         | 16 and more | 1024 and more | gate    |
/// |--------------------------------|-------------|---------------|---------|
/// | int8wo, -v2, -v018, +packed    | 35.4        | 43.8          | 28 / 38 |
/// | int8dq, -v2, -v018, decode     | 30.3        | 39.5          | 25 / 35 |
/// | float8wo                       | 22.7        | 31.4          | 16 / 26 |
/// | float8dq-tensor, -row          | 19.0        | 28.0          | 16 / 26 |
///
/// Weights in groups of 32 to 2048, without and with HQQ, of linear layers from 1×32×16 to 16×2048×64
/// that torchao itself computed, uniform and normal (from 16×512×64 on int4wo stays above 18.1; steps
/// of int4wo-tilepacked are 2⁻⁷ at least, so uniform weights of a wide layer lose: 11.8 at k = 4096,
/// 9.2 at 8192, 6.1 at 16384, where the gate stops it):
///
/// | recipe                    | linear                              | gate of many outputs |
/// |---------------------------|-------------------------------------|----------------------|
/// | int4wo, -tilepacked       | 12.6 / 12.9, 13.8                   | 18, 8                |
/// | uintx, 1 to 4 bits        | −4.7 / −9.7, 1.7 / 2.0, 8.7 / 9.0, 15.4 / 15.8    | −2 / −16, 6, 12, 18 |
/// | uintx, 5 to 8 bits        | 22.3 / 21.3, 27.5 / 28.4, 33.5 / 32.6, 38.0 / 39.2 | 24, 30, 36, 38 |
///
/// With one bit the gate stops only errors far larger than the signal. Sigmoid's constant half and the
/// transformer block's residual are exact and hide errors of the linear layers by 8 dB and more, hence
/// higher gates. On a CPU without VNNI `_int_mm` saturates and int8dq reaches only 12 to 21 dB; it is
/// refused there before. The other recipes' figures are in their files.
pub fn min_sqnr_db(
    model: ModelKind,
    dtype: Dtype,
    recipe: Recipe,
    outputs: usize,
) -> Result<f64, Refusal> {
    let gate = recipes::min_sqnr_db(recipe, dtype)?;
    let shift = models::architecture(model)?.gate_shift_db();
    if recipe.is_unquantized() {
        // The dtype's own roundings, which exact parts do not hide.
        return Ok(gate + shift.min(0.0));
    }
    Ok(with_chance(gate, outputs) + shift)
}

/// The gate of so few numbers that chance decides, too.
fn with_chance(gate: f64, numbers: usize) -> f64 {
    if numbers >= MANY {
        return gate;
    }
    // Not below what an output of nothing but zeros has, 0 dB, unless the gate is there already: that
    // of a single bit.
    (gate - CHANCE_DB).max(gate.min(1.0))
}

/// [`min_sqnr_db`] of `numbers` that a product of a training step has made, or what comes of them: output, gradient of
/// the input, gradient of a weight.
///
/// The gates of products are those of a linear layer; recipes have them. Lowest values of gradients measured on a CPU, in
/// dB above the lowest of these gates, at 32×64×48 over 10 seeds and three dtypes (`every_part_of_every_model_passes_its_gates`
/// prints them):
///
/// | model                                  | float8 | baseline       | shift of the gate |
/// |----------------------------------------|--------|----------------|-------------------|
/// | ln_linear_relu, _leakyrelu, _relu6     | −12.5  | 26.3 in itself | −14, 20 in itself |
/// | ln_linear, other activations           | 0.6    | 3.0            | −3                |
/// | transformer_block                      | −1.7   | −2.5           | −5                |
pub fn min_trained_sqnr_db(
    case: &Case,
    work: &ModelWork,
    product: Product,
    numbers: usize,
) -> Result<f64, Refusal> {
    let recipe = work.variant.recipe;
    let gate = |product| recipes::trained_min_sqnr_db(case, recipe, product);
    let model = models::architecture(work.model)?;
    let shift = if model.gradients_jump() { SIGNS_DB } else { model.gradient_shift_db() };
    let (gate, shift) = match (product, shift) {
        (Product::Output, _) => (gate(product)?, model.gate_shift_db()),
        (_, 0.0) => (gate(product)?, 0.0),
        // The gradient also has the errors of the products before it.
        (_, shift) => {
            let worst = Product::ALL.iter().try_fold(f64::INFINITY, |worst, &product| {
                Ok::<_, Refusal>(gate(product)?.min(worst))
            })?;
            (worst, shift)
        }
    };
    if recipe == Recipe::Baseline && product != Product::Output && model.gradients_jump() {
        return Ok(gate.min(BASELINE_SIGNS_DB));
    }
    if recipe == Recipe::Baseline {
        return Ok(gate + shift.min(0.0));
    }
    Ok(with_chance(gate, numbers) + shift)
}

/// The change of the gate for a gradient that jumps when a sign changes.
const SIGNS_DB: f64 = -14.0;
/// The gate of such gradients of the baseline, whose roundings change the signs of the smallest numbers alone, in every
/// dtype.
const BASELINE_SIGNS_DB: f64 = 20.0;

/// The smallest signal-to-noise ratio, in dB, of a user's kernel that gives no tolerance: of
/// what it computes nothing is known, so half of the dtype's digits have to be right. That is a relative
/// error of √ε, with ε the distance of 1 from the next number, as Julia's `isapprox` has it by default:
/// 157 dB in float64, 69 in float32, 21 in bfloat16, 30 in float16, 9 in float8.
pub fn kernel_min_sqnr_db(dtype: Dtype) -> f64 {
    let epsilon = 2.0 * Float::for_dtype(dtype).unit_roundoff();
    -10.0 * epsilon.log10()
}

/// The smallest signal-to-noise ratio, in dB, that a compiled output may have against the eager one.
/// Inductor keeps in float32 what eager operations round in between.
///
/// Lowest values measured on a CPU, in dB, of linear layers, ln_linear, the transformer block, patterns
/// and operators (`compiled_tests.rs` prints them): infinite in float32 but for sums in another order,
/// 50.1 in bfloat16. A step that quantizes its activations turns the smallest difference before that
/// into a whole step of the quantization, here and there: 40.0 of int8dq in bfloat16, 41.3 of intx. There,
/// and of patterns and operators, whose eager form may itself be further from float64 than that, the
/// gate is that of the eager form.
pub fn min_agreement_db(case: &Case) -> Result<f64, Refusal> {
    let of_dtype = match case.dtype {
        Dtype::Float64 | Dtype::Float32 => 90.0,
        Dtype::BFloat16 | Dtype::Float8E4M3Fn => 40.0,
        Dtype::Float16 => 55.0,
    };
    let eager_may = match &case.work {
        Work::Model(work) if work.pass.is_some() => {
            let gate = |product| min_trained_sqnr_db(case, work, product, MANY);
            gate(Product::Output)?.min(gate(Product::GradInput)?).min(gate(Product::GradWeight)?)
        }
        Work::Model(work) if work.variant.recipe.quantizes_activations() => {
            recipes::min_sqnr_db(work.variant.recipe, case.dtype)?
        }
        Work::Fusion(work) => work.operation().min_sqnr_db(work, case.dtype),
        Work::Operator(work) => work.operation().min_sqnr_db(work, case.dtype),
        Work::Model(_) | Work::Probe(_) | Work::Kernel(_) => of_dtype,
    };
    Ok(of_dtype.min(eager_may))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_digits_of_every_precision() {
        let gates = Dtype::PRECISIONS.iter().map(|dtype| kernel_min_sqnr_db(*dtype).round());
        assert_eq!(gates.collect::<Vec<_>>(), [157.0, 69.0, 21.0, 30.0, 9.0]);
    }
}

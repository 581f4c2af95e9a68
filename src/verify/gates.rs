//! Accuracy gates.

use plan::{Case, Dtype, ModelKind, ModelWork, Recipe, Work};

use super::judge::MOST_DB;
use crate::kernel::{Float, Shipped};
use crate::recipes::Product;
use crate::refusal::Refusal;
use crate::{models, recipes};

/// Outputs from which on a ratio is that of the recipe rather than of chance.
const MANY: usize = 1024;
/// The loss, in dB, that chance may cause in the ratio of fewer outputs.
const CHANCE_DB: f64 = 10.0;
/// Terms below which the gate of a user's kernel stays the same: a function of few operations may enlarge the roundings of
/// its inputs.
const FEWEST_TERMS: u64 = 1 << 10;
/// Terms above which it stays the same: longer sums are computed in parts, or their errors are as large as those of TF32.
const MOST_TERMS: u64 = 1 << 20;
/// The distance, in dB, of the gate of a user's kernel from the error that its sums may have: a factor of 3.
const MARGIN_DB: f64 = 10.0;

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

/// The smallest signal-to-noise ratio, in dB, of a user's kernel that gives no tolerance and whose outputs are sums
/// of so many `terms` at most ([`kernel_terms`]).
///
/// In float32 and float64 a sum of n terms, in any order, has a relative error of about 0.3·√n·u, with u the unit
/// roundoff: errors of roundings add up as in a random walk. The gate is at √n·u, and [`MARGIN_DB`] below for what else
/// a kernel computes. In float32 it lies above what the 11 bits of TF32 and float16 can reach, 71 dB, whatever the
/// number of terms. In the narrow dtypes half of the digits have to be right: a relative error of √ε, with ε the
/// distance of 1 from the next number.
pub fn kernel_min_sqnr_db(dtype: Dtype, terms: u64) -> f64 {
    let unit = Float::for_dtype(dtype).unit_roundoff();
    match dtype {
        Dtype::Float64 | Dtype::Float32 => {
            let terms = terms.clamp(FEWEST_TERMS, MOST_TERMS) as f64;
            (-20.0 * unit.log10() - 10.0 * terms.log10() - MARGIN_DB).min(MOST_DB)
        }
        Dtype::BFloat16 | Dtype::Float16 | Dtype::Float8E4M3Fn => -10.0 * (2.0 * unit).log10(),
    }
}

/// The most terms that an element of the outputs of a user's kernel can be a sum of: no more than operations that it
/// declares for each, nor than elements of its inputs. A kernel cannot lower its gate by what it declares.
pub fn kernel_terms(flops: Option<u64>, outputs: usize, inputs: usize) -> u64 {
    let operations = flops.map_or(u64::MAX, |flops| flops / outputs.max(1) as u64);
    operations.min(if inputs == 0 { u64::MAX } else { inputs as u64 })
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
    fn gates_of_wide_dtypes_depend_on_the_number_of_terms() {
        let gates = |terms| {
            let gate = |dtype: &Dtype| kernel_min_sqnr_db(*dtype, terms).round();
            Dtype::PRECISIONS.iter().map(gate).collect::<Vec<_>>()
        };
        assert_eq!(gates(0), [200.0, 104.0, 21.0, 30.0, 9.0]);
        assert_eq!(gates(1 << 10), gates(0));
        assert_eq!(gates(1 << 16), [200.0, 86.0, 21.0, 30.0, 9.0]);
        assert_eq!(gates(1 << 20), [200.0, 74.0, 21.0, 30.0, 9.0]);
        assert_eq!(gates(u64::MAX), gates(1 << 20));
    }

    #[test]
    fn terms_are_bounded_by_operations_and_by_inputs() {
        assert_eq!(kernel_terms(Some(6400), 100, 1000), 64);
        assert_eq!(kernel_terms(Some(u64::MAX), 1, 1000), 1000, "whatever it declares");
        assert_eq!(kernel_terms(None, 100, 1000), 1000);
        assert_eq!(kernel_terms(Some(6400), 100, 0), 64, "it draws its inputs itself");
        assert_eq!(kernel_terms(None, 0, 0), u64::MAX);
    }
}

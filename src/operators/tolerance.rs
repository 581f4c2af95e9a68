//! How far an output may be from its formula, value by value.

use plan::{Dtype, Implementation, Operator, OperatorWork};
use tch::{TchError, Tensor};

use super::Site;
use super::float::Float;
use super::layer_norm::{EPS, mean};
use crate::inputs::Inputs;

/// What is allowed to an implementation's output, value by value:
///
/// u·|ref| + C·v·condition + underflow
///
/// with u the unit roundoff of the output's dtype, twice that for `rust` in half precision, whose
/// functions are approximated to one unit in the last place; v that of `intermediate` results, and
/// C 16 where these are float32, else 8. The condition is what relative errors of one in them do to
/// the value (`condition`); the underflow, what is lost below the smallest numbers (`underflow`).
///
/// Worst values measured on a CPU, over what is allowed: ATen's forms, in float32 all of them, 20 seeds
/// of rows of 1 to 769 and 2 of up to 10 001. One operation in half precision comes to 1.00 because
/// half a unit in the last place is u·|ref|, and denormals to 0.50 because half the smallest number is
/// lost.
///
/// | operator             | float32 | one operation, bf16, f16 | rounded between, bf16, f16 |
/// |----------------------|---------|--------------------------|----------------------------|
/// | layer_norm           | 0.42    | 1.00, 1.00               | 0.41, 0.59                 |
/// | layer_norm_no_affine | 0.42    | 1.00, 0.99               | 0.33, 0.62                 |
/// | rms_norm             | 0.64    |                          | 0.39, 0.68                 |
/// | gelu                 | 0.50    | 0.97, 0.99               | 0.48, 0.50                 |
/// | gelu_tanh            | 0.50    | 0.98, 0.99               | 0.48, 0.50                 |
/// | silu                 | 0.50    | 0.98, 0.99               | 0.49, 0.50                 |
/// | softmax              | 0.30    | 1.00, 0.99               | 0.23, 0.18                 |
/// | mse_loss             | 0.29    |                          | 0.26, 0.44                 |
/// | cross_entropy        | 0.16    |                          | 0.28, 0.33                 |
/// | bias_gelu            | 0.33    |                          | 0.24, 0.28                 |
/// | add_layer_norm       | 0.41    |                          | 0.44, 0.52                 |
///
/// NaN and infinity have to stand where the formula has them, with what ATen does: GELU and SiLU of −∞
/// are NaN, since it multiplies it by zero; RMSNorm of a row with one infinity is zero, and NaN there;
/// LayerNorm and softmax of a row with +∞ are NaN; softmax of −∞ is zero. Three things that oneDNN,
/// which computes ATen's exact GELU on some CPUs, does otherwise are allowed to those forms alone:
/// GELU(+∞) may be NaN, it may be infinite from half the largest number on (the inputs stop before
/// that), and in bfloat16 an output below the normal numbers may be zero.
#[derive(Debug)]
pub struct Tolerance {
    /// The largest |ref − out| of each value, in float64, like the output.
    pub allowed: Tensor,
    /// The largest finite number of the output's dtype, beyond which it may be infinite.
    pub largest: f64,
    /// Whether NaN may stand where the formula has infinity.
    pub infinity_may_be_nan: bool,
}

impl Tolerance {
    /// On these inputs, in float64 on the host, of which the formula makes `reference`.
    ///
    /// # Errors
    /// What libtorch refuses.
    pub fn new(site: &Site, inputs: &Inputs, reference: &Tensor) -> Result<Self, TchError> {
        let held_in = intermediate(&site.work, site.dtype);
        let (output, held) = (Float::of(site.dtype), Float::of(held_in));
        let flushes = flushes_denormals(site);
        let smallest = if flushes { output.smallest_normal() } else { output.smallest() };
        let operator = site.work.operator;
        let rounding = condition(operator, inputs, reference)?
            .f_mul_scalar(roundings(held_in) * held.unit_roundoff())?;
        let allowed = reference
            .f_abs()?
            .f_mul_scalar(output_roundings(site) * output.unit_roundoff())?
            .f_add(&rounding)?
            .f_add(&underflow(operator, inputs, reference, held)?)?
            .f_add_scalar(smallest)?;
        Ok(Self { allowed, largest: output.largest(), infinity_may_be_nan: onednn_gelu(site) })
    }
}

/// How often the output is rounded, at most: once, or to either neighbour.
fn output_roundings(site: &Site) -> f64 {
    let approximates = site.work.implementation == Implementation::Rust;
    if approximates && site.dtype != Dtype::Float32 { 2.0 } else { 1.0 }
}

/// C: float32's sums are rounded as they go; those of half precision run in float32.
const fn roundings(held: Dtype) -> f64 {
    match held {
        Dtype::Float64 | Dtype::Float32 => 16.0,
        Dtype::BFloat16 | Dtype::Float16 | Dtype::Float8E4M3Fn => 8.0,
    }
}

/// The dtype that the results of the operations inside an implementation are rounded to: float32,
/// unless they are tensors of the case's dtype.
pub(super) fn intermediate(work: &OperatorWork, dtype: Dtype) -> Dtype {
    let rounded = match work.implementation {
        Implementation::AtenComposed => true,
        Implementation::Aten | Implementation::AtenOut => matches!(
            work.operator,
            Operator::BiasGelu
                | Operator::AddLayerNorm
                | Operator::CrossEntropy
                | Operator::MseLoss
                | Operator::RmsNorm
        ),
        Implementation::Rust
        | Implementation::Cuda
        | Implementation::Triton
        | Implementation::Stream => false,
    };
    if rounded { dtype } else { Dtype::Float32 }
}

/// Whether oneDNN may compute it: ATen's exact GELU on a CPU, but for float16.
fn onednn_gelu(site: &Site) -> bool {
    let aten = matches!(site.work.implementation, Implementation::Aten | Implementation::AtenOut);
    let exact = matches!(site.work.operator, Operator::Gelu | Operator::BiasGelu);
    aten && exact && site.device == plan::Device::Cpu && site.dtype != Dtype::Float16
}

/// Whether an output below the normal numbers may be zero.
fn flushes_denormals(site: &Site) -> bool {
    onednn_gelu(site) && site.dtype == Dtype::BFloat16
}

/// What relative errors of one in the intermediate results do to each value of the output.
fn condition(operator: Operator, inputs: &Inputs, y: &Tensor) -> Result<Tensor, TchError> {
    let x = &inputs.examples[0];
    match operator {
        // ½(1 + erf) and ½(1 + tanh) cancel where x is negative.
        Operator::Gelu | Operator::GeluTanh => x.f_abs(),
        Operator::BiasGelu => x.f_add(&inputs.parameters[0])?.f_abs(),
        // y(1 + |x|(1 − σ)): exp(−x) has the relative error of its argument times x.
        Operator::Silu => {
            let slope = x.f_abs()?.f_mul(&x.f_neg()?.f_sigmoid()?)?;
            slope.f_add_scalar(1.0)?.f_mul(&y.f_abs()?)
        }
        // y(1 + |x − max|), likewise.
        Operator::Softmax => {
            let distance = x.f_sub(&x.f_amax([-1_i64], true)?)?.f_abs()?;
            distance.f_add_scalar(1.0)?.f_mul(y)
        }
        // |w|·max|x|/σ + |b|: the mean's error is that of the largest.
        Operator::LayerNorm | Operator::LayerNormNoAffine => normalized(x, &inputs.parameters),
        Operator::AddLayerNorm => normalized(&x.f_add(&inputs.examples[1])?, &inputs.parameters),
        // Nothing cancels.
        Operator::RmsNorm | Operator::MseLoss => y.f_abs(),
        // The mean of |max| + |x[t]| + log Σ.
        Operator::CrossEntropy => {
            let (x, classes) = super::cross_entropy::rows(x, &inputs.examples[1])?;
            let largest = x.f_amax([-1_i64], true)?;
            let sum = x.f_sub(&largest)?.f_logsumexp([-1_i64].as_slice(), true)?;
            let chosen = x.f_gather(-1, &classes.f_unsqueeze(-1)?, false)?;
            largest.f_abs()?.f_add(&chosen.f_abs()?)?.f_add(&sum)?.f_mean(None::<tch::Kind>)
        }
    }
}

/// That of LayerNorm(x).
fn normalized(x: &Tensor, parameters: &[Tensor]) -> Result<Tensor, TchError> {
    let largest = scale(x, parameters)?.f_mul(&x.f_abs()?.f_amax([-1_i64], true)?)?;
    match parameters {
        [_, bias] => largest.f_add(&bias.f_abs()?),
        _ => Ok(largest),
    }
}

/// What LayerNorm multiplies by: |w|/√(variance + ε), like x.
fn scale(x: &Tensor, parameters: &[Tensor]) -> Result<Tensor, TchError> {
    let variance = mean(&x.f_sub(&mean(x)?)?.f_square()?)?;
    let scale = variance.f_add_scalar(EPS)?.f_rsqrt()?.f_expand_as(x)?;
    match parameters.first() {
        Some(weight) => scale.f_mul(&weight.f_abs()?),
        None => Ok(scale),
    }
}

/// What is lost where an intermediate result falls below the normal numbers of `held`.
fn underflow(
    operator: Operator,
    inputs: &Inputs,
    y: &Tensor,
    held: Float,
) -> Result<Tensor, TchError> {
    let x = &inputs.examples[0];
    match operator {
        // An exponential, or its reciprocal, may be flushed.
        Operator::Silu => x.f_abs()?.f_mul_scalar(held.smallest_normal()),
        Operator::Softmax => y.f_full_like(held.smallest_normal()),
        // The mean and the difference from it are each rounded to a multiple of the smallest number.
        Operator::LayerNorm | Operator::LayerNormNoAffine => {
            scale(x, &inputs.parameters)?.f_mul_scalar(2.0 * held.smallest())
        }
        Operator::AddLayerNorm => {
            let sum = x.f_add(&inputs.examples[1])?;
            scale(&sum, &inputs.parameters)?.f_mul_scalar(2.0 * held.smallest())
        }
        Operator::Gelu
        | Operator::GeluTanh
        | Operator::BiasGelu
        | Operator::RmsNorm
        | Operator::MseLoss
        | Operator::CrossEntropy => y.f_zeros_like(),
    }
}

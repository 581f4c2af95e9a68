//! How far the output of an operator may be from its formula, value by value.

use plan::{Dtype, Implementation, Operator, OperatorWork};
use tch::{TchError, Tensor};

use super::{Formula, held_in};
use crate::inputs::Inputs;
use crate::kernel::{Float, KernelContext, Tolerance};

/// The error that an implementation's output may have, value by value:
///
/// u·|ref| + C·v·condition + underflow
///
/// with u the unit roundoff of the output's dtype, twice that for `rust` in half precision, whose
/// functions are approximated to one unit in the last place; v that of intermediate results, and
/// C 16 where these are float32, else 8. The condition is what relative errors of one in them do to
/// the value ([`Formula::condition`]); the underflow, what is lost below the smallest numbers
/// ([`Formula::underflow`]).
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
pub(super) fn compute(
    formula: impl Formula,
    context: &KernelContext<OperatorWork>,
    inputs: &Inputs,
    reference: &Tensor,
) -> Result<Tolerance, TchError> {
    let held_in = held_in(formula, context);
    let (output, held) = (Float::for_dtype(context.dtype), Float::for_dtype(held_in));
    let smallest =
        if flushes_denormals(context) { output.smallest_normal() } else { output.smallest() };
    let rounding = formula
        .condition(inputs, reference)?
        .f_mul_scalar(roundings(held_in) * held.unit_roundoff())?;
    let allowed = reference
        .f_abs()?
        .f_mul_scalar(output_roundings(context) * output.unit_roundoff())?
        .f_add(&rounding)?
        .f_add(&formula.underflow(inputs, reference, held)?)?
        .f_add_scalar(smallest)?;
    let size = context.work.size;
    Ok(Tolerance {
        size: vec![size.batch_size, size.sequence_length, size.tensor_dimension],
        reference: reference.shallow_clone(),
        allowed,
        largest: output.largest(),
        infinity_may_be_nan: onednn_gelu(context),
    })
}

/// How often the output is rounded, at most: once, or to either neighbour.
fn output_roundings(context: &KernelContext<OperatorWork>) -> f64 {
    let approximates = context.work.implementation == Implementation::Rust;
    if approximates && context.dtype != Dtype::Float32 { 2.0 } else { 1.0 }
}

/// C: float32's sums are rounded as they go; those of half precision run in float32.
const fn roundings(held: Dtype) -> f64 {
    match held {
        Dtype::Float64 | Dtype::Float32 => 16.0,
        Dtype::BFloat16 | Dtype::Float16 | Dtype::Float8E4M3Fn => 8.0,
    }
}

/// Whether oneDNN may compute it: ATen's exact GELU on a CPU, but for float16.
fn onednn_gelu(context: &KernelContext<OperatorWork>) -> bool {
    let aten =
        matches!(context.work.implementation, Implementation::Aten | Implementation::AtenOut);
    let exact = matches!(context.work.operator, Operator::Gelu | Operator::BiasGelu);
    aten && exact && context.device == plan::Device::Cpu && context.dtype != Dtype::Float16
}

/// Whether an output below the normal numbers may be zero.
fn flushes_denormals(context: &KernelContext<OperatorWork>) -> bool {
    onednn_gelu(context) && context.dtype == Dtype::BFloat16
}

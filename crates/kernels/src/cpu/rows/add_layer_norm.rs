//! LayerNorm of a sum, as behind a residual connection.

use tch::{TchError, Tensor};

use super::affine::WeightAndBias;
use super::layout::{Rows, parameter, same};
use super::moments::Centered;
use super::normal::NormalizeRows;
use super::pass::Sum;
use super::{run, with_element};
use crate::cpu::Capability;
use crate::overlap::refuse_overlap;

/// Writes the LayerNorm of x + residual to `out`, in one pass over memory.
///
/// As [`layer_norm`](super::layer_norm) with weight and bias; the residual of x's size. The sum is
/// one of float32 values, for half dtypes, too: it is rounded to float32 only, by 2⁻²⁴ of itself,
/// which normalization enlarges as it does the sum.
///
/// # Errors
/// As [`layer_norm`](super::layer_norm).
pub fn add_layer_norm(
    x: &Tensor,
    residual: &Tensor,
    weight: &Tensor,
    bias: &Tensor,
    eps: f64,
    out: &mut Tensor,
) -> Result<(), TchError> {
    add_layer_norm_with(Capability::best(), x, residual, weight, bias, eps, out)
}

pub(super) fn add_layer_norm_with(
    capability: Capability,
    x: &Tensor,
    residual: &Tensor,
    weight: &Tensor,
    bias: &Tensor,
    eps: f64,
    out: &mut Tensor,
) -> Result<(), TchError> {
    same("residual", residual, x)?;
    refuse_overlap(out, [x, residual, weight, bias])?;
    let (from, residual) = (Rows::of("x", x)?, Rows::of("residual", residual)?);
    let to = Rows::of_output("out", out, x)?;
    let weight = parameter("weight", weight, x, from.dim)?;
    let bias = parameter("bias", bias, x, from.dim)?;
    with_element!(x.f_kind()?, T => {
        let source = move |row| Sum::<T>(from.row(row), residual.row(row));
        let affine = WeightAndBias::<T>(weight.row(0), bias.row(0));
        // SAFETY: all rows are as long as those of `to` and of this dtype, which nothing else
        // shares; so are the parameters.
        unsafe { run(capability, &to, |rows| {
            NormalizeRows::<Centered, T, _, _>::new(source, affine, eps, to, rows)
        }) }
    })
}

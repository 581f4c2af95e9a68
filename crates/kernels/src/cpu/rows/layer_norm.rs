//! LayerNorm over the last dimension.

use tch::{TchError, Tensor};

use super::affine::WeightAndBias;
use super::layout::{Rows, parameter};
use super::moments::Centered;
use super::normal::NormalizeRows;
use super::{run, with_element};
use crate::cpu::Capability;
use crate::overlap::refuse_overlap;

/// Writes (x − mean) / √(variance + eps) · weight + bias of each row, its variance the biased one,
/// to `out`; without weight and bias, what they would be applied to.
///
/// x and out `[.., dim]`, weight and bias `[dim]`, all float32, bfloat16 or float16. Rows may lie
/// any one stride apart, their elements follow one another. With x̂ the normalized value, a result
/// is off by at most 4·2⁻²⁴·(1 + |x̂|)·|weight|, and 2⁻²⁴·|bias|, before it is rounded to the dtype:
/// also where the mean is large against the deviation, as nothing is lost when it is subtracted.
/// A row with a NaN or an infinity becomes NaN.
///
/// # Errors
/// Sizes, dtypes or strides other than those; an output that shares memory with an input.
pub fn layer_norm(
    x: &Tensor,
    affine: Option<(&Tensor, &Tensor)>,
    eps: f64,
    out: &mut Tensor,
) -> Result<(), TchError> {
    layer_norm_with(Capability::best(), x, affine, eps, out)
}

pub(super) fn layer_norm_with(
    capability: Capability,
    x: &Tensor,
    affine: Option<(&Tensor, &Tensor)>,
    eps: f64,
    out: &mut Tensor,
) -> Result<(), TchError> {
    let (from, to) = (Rows::of("x", x)?, Rows::of_output("out", out, x)?);
    refuse_overlap(out, [x])?;
    let parameters = match affine {
        Some((weight, bias)) => {
            refuse_overlap(out, [weight, bias])?;
            let weight = parameter("weight", weight, x, from.dim)?;
            Some((weight, parameter("bias", bias, x, from.dim)?))
        }
        None => None,
    };
    with_element!(x.f_kind()?, T => {
        let source = move |row| from.row::<T>(row).cast_const();
        match parameters {
            Some((weight, bias)) => {
                let affine = WeightAndBias::<T>(weight.row(0), bias.row(0));
                // SAFETY: all rows are as long as those of `to` and of this dtype, which nothing
                // else shares; so are the parameters.
                unsafe { run(capability, &to, |rows| {
                    NormalizeRows::<Centered, T, _, _>::new(source, affine, eps, to, rows)
                }) }
            }
            // SAFETY: as above.
            None => unsafe { run(capability, &to, |rows| {
                NormalizeRows::<Centered, T, _, _>::new(source, (), eps, to, rows)
            }) },
        }
    })
}

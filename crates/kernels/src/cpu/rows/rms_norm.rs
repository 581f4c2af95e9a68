//! RMSNorm over the last dimension.

use tch::{TchError, Tensor};

use super::affine::Weight;
use super::layout::{Rows, parameter};
use super::moments::Uncentered;
use super::normal::NormalizeRows;
use super::{run, with_element};
use crate::cpu::Capability;
use crate::overlap::refuse_overlap;

/// Writes x / √(mean(x²) + eps) · weight of each row to `out`.
///
/// x and out `[.., dim]`, weight `[dim]`, all float32, bfloat16 or float16. Rows may lie any one
/// stride apart, their elements follow one another. A result is off by at most 4·2⁻²⁴ of itself,
/// and where that is a subnormal number by 2⁻¹⁵⁰·(1 + |weight|), before it is rounded to the dtype.
/// A row with a NaN becomes NaN; of one with an infinity, so do the infinities, and the others
/// become 0.
///
/// # Errors
/// Sizes, dtypes or strides other than those; an output that shares memory with an input.
pub fn rms_norm(x: &Tensor, weight: &Tensor, eps: f64, out: &mut Tensor) -> Result<(), TchError> {
    rms_norm_with(Capability::best(), x, weight, eps, out)
}

pub(super) fn rms_norm_with(
    capability: Capability,
    x: &Tensor,
    weight: &Tensor,
    eps: f64,
    out: &mut Tensor,
) -> Result<(), TchError> {
    let (from, to) = (Rows::of("x", x)?, Rows::of_output("out", out, x)?);
    refuse_overlap(out, [x, weight])?;
    let weight = parameter("weight", weight, x, from.dim)?;
    with_element!(x.f_kind()?, T => {
        let source = move |row| from.row::<T>(row).cast_const();
        let affine = Weight::<T>(weight.row(0));
        // SAFETY: all rows are as long as those of `to` and of this dtype, which nothing else
        // shares; so is the weight.
        unsafe { run(capability, &to, |rows| {
            NormalizeRows::<Uncentered, T, _, _>::new(source, affine, eps, to, rows)
        }) }
    })
}

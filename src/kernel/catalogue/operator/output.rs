//! Outputs: allocated beforehand, or anew by every step as an operation of ATen's allocates its own.

use tch::{TchError, Tensor};

use crate::kernel::Step;

/// A tensor like `x` for a step to write into. It holds NaN, so that an element that is not written
/// fails the check, and its pages are mapped before anything is timed.
pub(super) fn unwritten_like(x: &Tensor) -> Result<Tensor, TchError> {
    x.f_full_like(f64::NAN)
}

/// The same for the one number of a loss of x.
pub(super) fn unwritten_loss(x: &Tensor) -> Result<Tensor, TchError> {
    Tensor::f_full([0_i64; 0], f64::NAN, (x.f_kind()?, x.device()))
}

/// A step in which the kernels fill a new tensor like x.
pub(super) fn filling_like(
    x: Tensor,
    kernels: &[impl AsRef<str>],
    fill: impl Fn(&Tensor, &mut Tensor) -> Result<(), TchError> + 'static,
) -> Step {
    Step::new(kernels, move || {
        let mut out = x.f_empty_like()?;
        fill(&x, &mut out)?;
        Ok::<_, TchError>(out)
    })
}

/// A step in which the kernels write the loss of x into a new tensor of one number.
pub(super) fn filling_loss(
    x: Tensor,
    kernels: &[impl AsRef<str>],
    fill: impl Fn(&Tensor, &mut Tensor) -> Result<(), TchError> + 'static,
) -> Step {
    Step::new(kernels, move || {
        let mut out = Tensor::f_empty([0_i64; 0], (x.f_kind()?, x.device()))?;
        fill(&x, &mut out)?;
        Ok::<_, TchError>(out)
    })
}

//! Our own kernels of the operators that treat every element by itself.

use tch::Tensor;

use super::Site;
use super::output::{filling_like, unwritten_like};
use crate::refusal::Refusal;
use crate::step::Step;
use kernels::cuda::pointwise::{Operation, Pointwise};
use kernels::triton::activation::{Activation, Formula};

/// By the kernels in CUDA C++.
pub(super) fn cuda(
    site: &Site,
    operation: Operation,
    x: Tensor,
    bias: Option<Tensor>,
) -> Result<Step, Refusal> {
    let kernels = Pointwise::load(operation, x.f_kind()?, site.cuda()?)?;
    let names = kernels.kernels(&x, bias.as_ref(), &unwritten_like(&x)?)?;
    Ok(filling_like(x, names, move |x, out| kernels.run(x, bias.as_ref(), out)))
}

/// By the kernels in Triton.
pub(super) fn triton(formula: Formula, x: Tensor) -> Result<Step, Refusal> {
    let kernels = Activation::new(formula, x.f_kind()?, x.device())?;
    let names = kernels.kernels();
    Ok(filling_like(x, names, move |x, out| kernels.run(x, out)))
}

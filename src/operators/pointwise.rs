//! Our own kernels of the operators that treat every element by itself.

use tch::Tensor;

use super::Site;
use super::output::{filling_like, unwritten_like};
use crate::kernels::cuda::pointwise::{Operation, Pointwise};
use crate::refusal::Refusal;
use crate::step::Step;

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

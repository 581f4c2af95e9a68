//! Our own kernels of the operators that normalize rows.

use tch::Tensor;

use super::Site;
use super::output::{filling_like, unwritten_like};
use crate::refusal::Refusal;
use crate::step::Step;
use kernels::cuda::normalization::{Norm, Normalization, Operands};

/// By the kernels in CUDA C++: w and b are the parameters, as many as there are.
pub(super) fn cuda(
    site: &Site,
    norm: Norm,
    x: Tensor,
    residual: Option<Tensor>,
    parameters: Vec<Tensor>,
) -> Result<Step, Refusal> {
    let kernels = Normalization::load(norm, x.f_kind()?, site.cuda()?)?;
    let names = kernels.kernels(operands(&x, &residual, &parameters), &unwritten_like(&x)?)?;
    Ok(filling_like(x, names, move |x, out| kernels.run(operands(x, &residual, &parameters), out)))
}

fn operands<'t>(
    x: &'t Tensor,
    residual: &'t Option<Tensor>,
    parameters: &'t [Tensor],
) -> Operands<'t> {
    let (weight, bias) = (parameters.first(), parameters.get(1));
    Operands { x, residual: residual.as_ref(), weight, bias }
}

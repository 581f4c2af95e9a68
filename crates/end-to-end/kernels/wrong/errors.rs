//! Multiplies what does not fit.

use criterion_torch::kernel::prelude::*;

pub struct ProblemSize;

pub fn run_benchmark(_: &ProblemSize, context: &KernelContext) -> Result<Tensor, Refusal> {
    let x = context.normal(&[2, 3])?;
    Ok(x.f_mm(&x)?)
}

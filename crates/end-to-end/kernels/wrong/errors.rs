//! Multiplies what does not fit.

use criterion_torch::kernel::prelude::*;

pub struct ProblemSize;

pub fn run_benchmark(_: &ProblemSize, site: &Site) -> Result<Tensor, Refusal> {
    let x = site.normal(&[2, 3])?;
    Ok(x.f_mm(&x)?)
}

//! Adds up in float16 what it says to add up in float64.

use criterion_torch::kernel::prelude::*;

pub struct ProblemSize {
    pub terms: u32,
}

pub fn run_benchmark(
    size: &ProblemSize,
    _: &KernelContext,
) -> Result<impl IntoTensor + use<>, Refusal> {
    let mut sum = f16::from_f64(0.0);
    for term in 1..=size.terms {
        sum += f16::from_f64(1.0 / f64::from(term));
    }
    Ok(f64::from(sum))
}

pub fn reference(size: &ProblemSize, _: &KernelContext) -> Result<Tensor, Refusal> {
    let sum: f64 = (1..=size.terms).rev().map(|term| 1.0 / f64::from(term)).sum();
    tensor(&[sum], &[1])
}

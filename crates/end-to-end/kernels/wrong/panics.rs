//! Indexes what is not there.

use criterion_torch::kernel::prelude::*;

pub struct ProblemSize;

pub fn run_benchmark(_: &ProblemSize, context: &KernelContext) -> Result<f32, Refusal> {
    let none: Vec<f32> = Vec::with_capacity(context.threads);
    Ok(none[context.threads])
}

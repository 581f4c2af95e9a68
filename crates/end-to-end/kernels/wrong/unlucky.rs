//! Refuses to run.

use criterion_torch::kernel::prelude::*;

pub struct ProblemSize;

pub fn run_benchmark(_: &ProblemSize, context: &KernelContext) -> Result<f32, Refusal> {
    Err(context.unsupported("seven is unlucky"))
}

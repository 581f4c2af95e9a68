//! Refuses to run.

use criterion_torch::kernel::prelude::*;

pub struct ProblemSize;

pub fn run_benchmark(_: &ProblemSize, site: &Site) -> Result<f32, Refusal> {
    Err(site.unsupported("seven is unlucky"))
}

//! Indexes what is not there.

use criterion_torch::kernel::prelude::*;

pub struct ProblemSize;

pub fn run_benchmark(_: &ProblemSize, site: &Site) -> Result<f32, Refusal> {
    let none: Vec<f32> = Vec::with_capacity(site.threads);
    Ok(none[site.threads])
}

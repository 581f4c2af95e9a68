//! Numbers without a reference.

use criterion_torch::kernel::prelude::*;

pub struct ProblemSize {
    pub count: u32,
}

impl Default for ProblemSize {
    fn default() -> Self {
        Self { count: 500 }
    }
}

pub fn run_benchmark(size: &ProblemSize) -> Result<Vec<f32>, Refusal> {
    Ok((0..size.count).map(|it| it as f32).collect())
}

pub fn flops(size: &ProblemSize) -> u64 {
    u64::from(size.count)
}

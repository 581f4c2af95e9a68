//! π by the midpoint rule for ∫₀¹ 4 / (1 + x²) dx. Everything in `run_benchmark` is timed.

use criterion_torch::kernel::prelude::*;

/// The keys of `problem_size` in a `bench.yaml`.
pub struct ProblemSize {
    pub intervals: u32,
}

impl Default for ProblemSize {
    fn default() -> Self {
        Self { intervals: 4096 }
    }
}

pub fn run_benchmark<T: Element>(size: &ProblemSize) -> Result<T, Refusal> {
    let number = T::Wide::from_f64;
    let width = number(1.0) / number(f64::from(size.intervals));
    let mut sum = number(0.0);
    for i in 0..size.intervals {
        let x = (number(f64::from(i)) + number(0.5)) * width;
        sum += number(4.0) / (number(1.0) + x * x);
    }
    Ok(T::narrow(sum * width))
}

pub fn reference(_: &ProblemSize, _: &KernelContext) -> Result<Tensor, Refusal> {
    tensor(&[std::f64::consts::PI], &[1])
}

pub fn flops(size: &ProblemSize) -> u64 {
    6 * u64::from(size.intervals)
}

use criterion_torch::kernel::prelude::*;

pub struct ProblemSize;

// π by the midpoint rule. Everything in this function is timed.
pub fn run_benchmark<T: Element>(_: &ProblemSize) -> Result<T, Refusal> {
    let x = |i: i32| (f64::from(i) + 0.5) / 4096.0;
    Ok(T::from_f64((0..4096).map(|i| 4.0 / (1.0 + x(i) * x(i))).sum::<f64>() / 4096.0))
}

// In float64. A kernel that computes something else is `failed`, however fast it is.
pub fn reference(_: &ProblemSize, _: &KernelContext) -> Result<Tensor, Refusal> {
    tensor(&[std::f64::consts::PI], &[1])
}

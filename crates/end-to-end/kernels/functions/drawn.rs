//! Draws its input inside of the clock.

use criterion_torch::kernel::prelude::*;

pub struct ProblemSize;

pub fn run_benchmark<T: Element>(_: &ProblemSize, context: &KernelContext) -> Result<T, Refusal> {
    let drawn = context.uniform(&[64], (1.0, 2.0))?;
    Ok(T::narrow(slice::<T>(&drawn)?.iter().fold(T::Wide::default(), |sum, it| sum + T::wide(*it))))
}

pub fn reference(_: &ProblemSize, context: &KernelContext) -> Result<Tensor, Refusal> {
    let drawn = context.uniform(&[64], (1.0, 2.0))?;
    Ok(drawn.f_sum(tch::Kind::Double)?.f_reshape([1])?)
}

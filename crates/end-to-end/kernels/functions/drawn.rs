//! Draws its input inside of the clock.

use criterion_torch::kernel::prelude::*;

pub struct ProblemSize;

pub fn run_benchmark<T: Element>(_: &ProblemSize, site: &Site) -> Result<T, Refusal> {
    let drawn: Vec<T> = values(&site.uniform(&[64], (1.0, 2.0))?)?;
    Ok(T::narrow(drawn.iter().fold(T::Wide::default(), |sum, it| sum + T::wide(*it))))
}

pub fn reference(_: &ProblemSize, site: &Site) -> Result<Tensor, Refusal> {
    let drawn = site.uniform(&[64], (1.0, 2.0))?;
    Ok(drawn.f_sum(tch::Kind::Double)?.f_reshape([1])?)
}

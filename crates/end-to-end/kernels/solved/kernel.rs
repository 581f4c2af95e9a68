//! A function of another name, which its bench.yaml gives. Nothing proves its output or says what it computes.

use criterion_torch::kernel::prelude::*;

pub struct ProblemSize;

pub fn solve(_: &ProblemSize) -> Result<f32, Refusal> {
    // Newton's method for √2.
    Ok((0..20).fold(1.0, |x: f32, _| 0.5 * (x + 2.0 / x)))
}

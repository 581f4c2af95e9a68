//! Compensated: each sum has beside it what its roundings have lost, and gives it to the next value.
//! Its error does not grow with n (Kahan 1965); it takes four operations where a sum takes one.

use super::kernel::{ProblemSize, exact};
use criterion_torch::kernel::prelude::*;

pub struct Kahan<T> {
    sum: T,
}

impl<T: Element> Kernel for Kahan<T> {
    type ProblemSize = ProblemSize;

    fn prepare(_: &ProblemSize, _: &[Tensor], context: &KernelContext) -> Result<Self, Refusal> {
        if context.device != Device::Cpu {
            return Err(context.unsupported("a loop over a slice runs on the CPU"));
        }
        Ok(Self { sum: T::from_f64(f64::NAN) })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.sum = T::narrow(compensated(slice::<T>(&examples[0])?));
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        tensor(&[self.sum], &[1])
    }

    /// Counts what the method computes, not the least that a sum needs.
    fn flops(size: &ProblemSize) -> Option<u64> {
        Some(4 * size.elements as u64)
    }

    fn bytes(size: &ProblemSize, dtype: Dtype) -> Option<u64> {
        Some(exact::bytes(size.elements, dtype))
    }
}

/// Sums side by side, each with its own compensation.
const LANES: usize = 32;

/// One step. The compiler keeps to the order: Rust does not take floating-point sums for associative.
fn add<W: Element>(sum: &mut W, lost: &mut W, value: W) {
    let value = value - *lost;
    let next = *sum + value;
    *lost = (next - *sum) - value;
    *sum = next;
}

fn compensated<T: Element>(x: &[T]) -> T::Wide {
    let (mut sums, mut lost) = ([T::Wide::default(); LANES], [T::Wide::default(); LANES]);
    for row in x.chunks(LANES) {
        for ((sum, lost), value) in sums.iter_mut().zip(&mut lost).zip(row) {
            add(sum, lost, value.wide());
        }
    }
    let (mut sum, mut left) = (T::Wide::default(), T::Wide::default());
    // A lane's own loss is the least of its value, and goes in with its sign turned.
    for part in sums.into_iter().chain(lost.into_iter().map(|it| -it)) {
        add(&mut sum, &mut left, part);
    }
    sum
}

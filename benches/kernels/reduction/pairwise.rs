//! Pairwise: halves are summed apart, down to pieces that a loop of vector code sums. The error grows
//! with log n instead of n (Higham 1993, "The Accuracy of Floating Point Summation").

use super::kernel::{ProblemSize, exact};
use criterion_torch::kernel::prelude::*;

pub struct Pairwise<T> {
    sum: T,
}

impl<T: Element> Kernel for Pairwise<T> {
    type ProblemSize = ProblemSize;

    fn prepare(_: &ProblemSize, _: &[Tensor], context: &KernelContext) -> Result<Self, Refusal> {
        if context.device != Device::Cpu {
            return Err(context.unsupported("a loop over a slice runs on the CPU"));
        }
        Ok(Self { sum: T::from_f64(f64::NAN) })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.sum = T::narrow(pairwise(slice::<T>(&examples[0])?));
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        tensor(&[self.sum], &[1])
    }

    fn flops(size: &ProblemSize) -> Option<u64> {
        Some(exact::flops(size.elements))
    }

    fn bytes(size: &ProblemSize, dtype: Dtype) -> Option<u64> {
        Some(exact::bytes(size.elements, dtype))
    }
}

/// Values that one loop sums.
const PIECE: usize = 1024;
/// Sums side by side: a few vectors of them, so that one sum need not wait for the last.
const LANES: usize = 32;

fn pairwise<T: Element>(x: &[T]) -> T::Wide {
    if x.len() > PIECE {
        // Whole lanes on the left.
        let middle = (x.len() / 2).next_multiple_of(LANES);
        let (left, right) = x.split_at(middle);
        return pairwise(left) + pairwise(right);
    }
    let mut lanes = [T::Wide::default(); LANES];
    let mut rows = x.chunks_exact(LANES);
    for row in &mut rows {
        for (lane, value) in lanes.iter_mut().zip(row) {
            *lane += value.wide();
        }
    }
    for (lane, value) in lanes.iter_mut().zip(rows.remainder()) {
        *lane += value.wide();
    }
    lanes.into_iter().fold(T::Wide::default(), |sum, lane| sum + lane)
}

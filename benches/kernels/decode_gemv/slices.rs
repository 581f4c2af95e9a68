//! Matrix-vector product over plain slices: a dot product for each row, and the rows are shared out
//! among the threads of torch's own operators.

use super::kernel::{ProblemSize, layer};
use criterion_torch::kernel::prelude::*;
use criterion_torch::kernels::cpu::parallel;

pub struct Slices<T> {
    weight: Tensor,
    y: Vec<T>,
}

impl<T: Element> Kernel for Slices<T> {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        if context.device != Device::Cpu {
            return Err(context.unsupported("loops over slices run on the CPU"));
        }
        let y = vec![T::from_f64(f64::NAN); size.out_features];
        Ok(Self { weight: parameters[0].shallow_clone(), y })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let Self { weight, y } = self;
        let (weight, x) = (slice::<T>(weight)?, slice(&examples[0])?);
        let features = x.len();
        // Outputs in pieces of a cache line or more, so that no two threads write to the same one.
        parallel::for_each_row(y, PIECE, |piece, y| {
            let first = piece * PIECE;
            for (out, row) in y.iter_mut().zip(weight[first * features..].chunks_exact(features)) {
                *out = T::narrow(dot(row, x));
            }
        })?;
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        tensor(&self.y, &[self.y.len()])
    }

    fn flops(size: &ProblemSize) -> Option<u64> {
        Some(layer::flops(size.out_features, size.in_features))
    }

    fn bytes(size: &ProblemSize, dtype: Dtype) -> Option<u64> {
        Some(layer::bytes(size.out_features, size.in_features, dtype))
    }
}

/// Outputs that one thread computes at a time.
const PIECE: usize = 32;
/// Sums side by side: a few vectors of them, so that one sum need not wait for the last.
const LANES: usize = 32;

fn dot<T: Element>(row: &[T], x: &[T]) -> T::Wide {
    let mut lanes = [T::Wide::default(); LANES];
    let (mut weights, mut values) = (row.chunks_exact(LANES), x.chunks_exact(LANES));
    for (weights, values) in (&mut weights).zip(&mut values) {
        for i in 0..LANES {
            lanes[i] += weights[i].wide() * values[i].wide();
        }
    }
    let rest = weights.remainder().iter().zip(values.remainder());
    for (lane, (weight, value)) in lanes.iter_mut().zip(rest) {
        *lane += weight.wide() * value.wide();
    }
    lanes.into_iter().fold(T::Wide::default(), |sum, lane| sum + lane)
}

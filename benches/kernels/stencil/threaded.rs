//! Plain loops whose rows are shared out among the threads of torch's own operators.

use super::kernel::{ProblemSize, heat};
use criterion_torch::kernel::prelude::*;
use criterion_torch::kernels::cpu::parallel;
use heat::Grid;

pub struct Threaded<T> {
    grid: Grid,
    next: Vec<T>,
}

impl<T: Element> Kernel for Threaded<T> {
    type ProblemSize = ProblemSize;

    fn prepare(size: &ProblemSize, _: &[Tensor], context: &KernelContext) -> Result<Self, Refusal> {
        if context.device != Device::Cpu {
            return Err(context.unsupported("threads of the host run on the CPU"));
        }
        let grid = Grid::new(&size.grid_size, context)?;
        Ok(Self { next: vec![T::from_f64(0.0); grid.points()], grid })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let u = slice(&examples[0])?;
        match *self.grid.strides() {
            [row] => self.sweep(u, [row]),
            [plane, row] => self.sweep(u, [plane, row]),
            _ => Ok(()), // `Grid::new` lets no other pass.
        }
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        tensor(&self.next, self.grid.size())
    }

    fn flops(size: &ProblemSize) -> Option<u64> {
        Some(heat::flops(&size.grid_size))
    }

    fn bytes(size: &ProblemSize, dtype: Dtype) -> Option<u64> {
        Some(heat::bytes(&size.grid_size, dtype))
    }
}

impl<T: Element> Threaded<T> {
    fn sweep<const OTHERS: usize>(
        &mut self,
        u: &[T],
        strides: [usize; OTHERS],
    ) -> Result<(), Refusal> {
        let Self { grid, next } = self;
        let width = grid.width();
        // Each row is one thread's alone.
        parallel::for_each_row(next, width, |row, next| {
            if grid.is_inner(row) {
                heat::step_row(next, u, row * width, strides);
            }
        })?;
        Ok(())
    }
}

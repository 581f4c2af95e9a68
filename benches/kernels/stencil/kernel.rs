//! One explicit step of the heat equation, ∂u/∂t = ∇²u, on a grid of two or three dimensions: a star
//! stencil, as loops over plain slices. The boundary keeps its values.
//!
//! This file is the baseline, because it is called `kernel.rs`; the others of this folder are measured
//! beside it, and judged by its reference.

#[path = "_heat.rs"]
mod heat;

use criterion_torch::kernel::prelude::*;
use heat::Grid;

/// The keys of `problem_size` in `bench.yaml`.
pub struct ProblemSize {
    /// Points in each dimension, the boundary's among them.
    pub grid_size: Vec<usize>,
}

/// `T` is the precision: `f64`, `f32`, `bf16` or `f16`.
pub struct Heat<T> {
    grid: Grid,
    u: Vec<T>,
    next: Vec<T>,
}

impl<T: Element> Kernel for Heat<T> {
    type ProblemSize = ProblemSize;

    fn prepare(size: &ProblemSize, context: &KernelContext) -> Result<Self, Refusal> {
        if context.device != Device::Cpu {
            return Err(context.unsupported("loops over slices run on the CPU"));
        }
        let grid = Grid::new(&size.grid_size, context)?;
        let u: Vec<T> = values(&context.normal(grid.size())?)?;
        // The boundary is written here, once, and never again.
        Ok(Self { grid, next: u.clone(), u })
    }

    /// Reads `u` and writes `next`, so that every step computes the same.
    fn run(&mut self) -> Result<(), Refusal> {
        match *self.grid.strides() {
            [row] => self.sweep([row]),
            [plane, row] => self.sweep([plane, row]),
            _ => {} // `Grid::new` lets no other pass.
        }
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        tensor(&self.next, self.grid.size())
    }

    fn reference(&self) -> Result<Option<Tensor>, Refusal> {
        let u = tensor(&self.u, self.grid.size())?;
        heat::reference(&u, &self.grid).map(Some)
    }

    fn flops(size: &ProblemSize) -> Option<u64> {
        Some(heat::flops(&size.grid_size))
    }

    fn bytes(size: &ProblemSize, dtype: Dtype) -> Option<u64> {
        Some(heat::bytes(&size.grid_size, dtype))
    }
}

impl<T: Element> Heat<T> {
    fn sweep<const OTHERS: usize>(&mut self, strides: [usize; OTHERS]) {
        let width = self.grid.width();
        for row in self.grid.inner_rows() {
            let start = row * width;
            heat::step_row(&mut self.next[start..start + width], &self.u, start, strides);
        }
    }
}

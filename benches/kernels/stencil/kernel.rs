//! One explicit step of the heat equation, ∂u/∂t = ∇²u, on a grid of two or three dimensions: a star
//! stencil, as loops over plain slices. The boundary is kept at 0.
//!
//! This file is the baseline, because it is called `kernel.rs`; the others of this folder are measured
//! beside it, and judged by its reference.

#[path = "_heat.rs"]
pub mod heat;

use criterion_torch::kernel::prelude::*;
use heat::Grid;

/// The keys of `problem_size` in `bench.yaml`.
pub struct ProblemSize {
    /// Points in each dimension, the boundary's among them.
    pub grid_size: Vec<usize>,
}

impl Task for ProblemSize {
    fn inputs(&self, context: &KernelContext) -> Result<Inputs, Refusal> {
        let grid = Grid::new(&self.grid_size, context)?;
        let drawn = context.normal(grid.size())?;
        let u = drawn.f_zeros_like()?;
        grid.interior_of(&u)?.f_copy_(&grid.interior_of(&drawn)?)?;
        Ok(Inputs { examples: vec![u], parameters: vec![] })
    }

    fn reference(
        &self,
        inputs: &Inputs,
        context: &KernelContext,
    ) -> Result<Option<Tensor>, Refusal> {
        let grid = Grid::new(&self.grid_size, context)?;
        heat::reference(&inputs.examples[0], &grid).map(Some)
    }
}

/// `T` is the precision: `f64`, `f32`, `bf16` or `f16`.
pub struct Heat<T> {
    grid: Grid,
    next: Vec<T>,
}

impl<T: Element> Kernel for Heat<T> {
    type ProblemSize = ProblemSize;

    fn prepare(size: &ProblemSize, _: &[Tensor], context: &KernelContext) -> Result<Self, Refusal> {
        if context.device != Device::Cpu {
            return Err(context.unsupported("loops over slices run on the CPU"));
        }
        let grid = Grid::new(&size.grid_size, context)?;
        // The boundary is written here, once, and never again.
        Ok(Self { next: vec![T::from_f64(0.0); grid.points()], grid })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let u = slice(&examples[0])?;
        match *self.grid.strides() {
            [row] => self.sweep(u, [row]),
            [plane, row] => self.sweep(u, [plane, row]),
            _ => {} // `Grid::new` lets no other pass.
        }
        Ok(())
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

impl<T: Element> Heat<T> {
    fn sweep<const OTHERS: usize>(&mut self, u: &[T], strides: [usize; OTHERS]) {
        let width = self.grid.width();
        for row in self.grid.inner_rows() {
            let start = row * width;
            heat::step_row(&mut self.next[start..start + width], u, start, strides);
        }
    }
}

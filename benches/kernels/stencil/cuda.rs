//! Heat step on a GPU: CUDA code that is compiled for the present device when it is prepared.

use super::kernel::{ProblemSize, heat};
use criterion_torch::kernel::cuda::{Argument, Function, Grid as Launch, Source};
use criterion_torch::kernel::prelude::*;
use heat::Grid;

pub const SOURCE: Source = Source { name: "heat.cu", text: include_str!("heat.cu") };

/// Not generic: it looks at `context.dtype` itself.
pub struct Cuda {
    grid: Grid,
    next: Tensor,
    step: Function,
}

impl Kernel for Cuda {
    type ProblemSize = ProblemSize;

    fn prepare(size: &ProblemSize, _: &[Tensor], context: &KernelContext) -> Result<Self, Refusal> {
        if context.dtype == Dtype::Float8E4M3Fn {
            return Err(context.unsupported("heat.cu has no arithmetic in 8 bits"));
        }
        let step = SOURCE.function(&format!("heat_{}", context.dtype.short()), context)?;
        let grid = Grid::new(&size.grid_size, context)?;
        if i32::try_from(grid.points()).is_err() {
            return Err(context.unsupported("heat.cu counts fewer than 2³¹ points"));
        }
        let next = Tensor::f_empty(grid.shape(), (context.kind(), context.torch_device))?;
        Ok(Self { next, grid, step })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        // Two dimensions are three with a single plane.
        let [.., rows, width] = *self.grid.size() else { return Ok(()) };
        let points = self.grid.points();
        let launch = Launch::covering(points, 256)?;
        let [planes, rows, width] =
            [points / (rows * width), rows, width].map(|it| Argument::Int(it as i32));
        let arguments =
            [Argument::In(&examples[0]), Argument::Out(&mut self.next), planes, rows, width];
        // SAFETY: the parameters of `heat_…`, whose threads stay below planes · rows · width, the
        // elements of both tensors.
        unsafe { self.step.launch(launch, &arguments) }
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(self.next.shallow_clone())
    }

    fn flops(size: &ProblemSize) -> Option<u64> {
        Some(heat::flops(&size.grid_size))
    }

    fn bytes(size: &ProblemSize, dtype: Dtype) -> Option<u64> {
        Some(heat::bytes(&size.grid_size, dtype))
    }
}

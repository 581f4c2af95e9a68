//! The sum on a GPU in two launches: each block sums its share, then one block sums theirs. The order
//! is the same every time, so every run gives the same bits.

use super::kernel::{ProblemSize, exact};
use criterion_torch::kernel::cuda::{Argument, Function, Grid, Source};
use criterion_torch::kernel::prelude::*;

pub const SOURCE: Source = Source { name: "sum.cu", text: include_str!("sum.cu") };

/// `kThreads` of the source.
const THREADS: usize = 256;
/// More blocks than any GPU runs at once; each walks over the values.
const MOST_BLOCKS: usize = 2048;

pub struct Cuda {
    /// The sum of each block, in the dtype that sums are computed in.
    partial: Tensor,
    sum: Tensor,
    of_blocks: Function,
    of_partials: Function,
}

impl Kernel for Cuda {
    type ProblemSize = ProblemSize;

    fn prepare(size: &ProblemSize, _: &[Tensor], context: &KernelContext) -> Result<Self, Refusal> {
        let wide = match context.dtype {
            Dtype::Float64 => tch::Kind::Double,
            Dtype::Float32 | Dtype::BFloat16 | Dtype::Float16 => tch::Kind::Float,
            Dtype::Float8E4M3Fn => return Err(context.unsupported("sum.cu has no sums in 8 bits")),
        };
        let dtype = context.dtype.short();
        let of_blocks = SOURCE.function(&format!("sum_blocks_{dtype}"), context)?;
        let of_partials = SOURCE.function(&format!("sum_partials_{dtype}"), context)?;
        // Four accesses of 16 bytes for each thread, before there are blocks enough.
        let values = THREADS * 4 * 16 / context.kind().elt_size_in_bytes();
        let blocks = size.elements.div_ceil(values).min(MOST_BLOCKS);
        let partial = Tensor::f_empty([blocks as i64], (wide, context.torch_device))?;
        let sum = Tensor::f_full([1], f64::NAN, (context.kind(), context.torch_device))?;
        Ok(Self { partial, sum, of_blocks, of_partials })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let (Self { partial, sum, of_blocks, of_partials }, x) = (self, &examples[0]);
        let (count, blocks) = (x.numel() as i64, partial.numel());
        let arguments = [Argument::In(x), Argument::Long(count), Argument::Out(partial)];
        // SAFETY: the parameters of `sum_blocks_…`, which reads `count` values and writes one for each
        // block.
        unsafe { of_blocks.launch(Grid::new(blocks, THREADS)?, &arguments) }?;
        let arguments = [Argument::In(partial), Argument::Int(blocks as i32), Argument::Out(sum)];
        // SAFETY: the parameters of `sum_partials_…`, which reads as many and writes one value.
        unsafe { of_partials.launch(Grid::new(1, THREADS)?, &arguments) }
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(self.sum.shallow_clone())
    }

    fn flops(size: &ProblemSize) -> Option<u64> {
        Some(exact::flops(size.elements))
    }

    fn bytes(size: &ProblemSize, dtype: Dtype) -> Option<u64> {
        Some(exact::bytes(size.elements, dtype))
    }
}

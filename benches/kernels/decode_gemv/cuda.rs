//! Matrix-vector product on a GPU: a warp for each output.

use super::kernel::{ProblemSize, layer};
use criterion_torch::kernel::cuda::{Argument, Function, Grid, Source};
use criterion_torch::kernel::prelude::*;

pub const SOURCE: Source = Source { name: "gemv.cu", text: include_str!("gemv.cu") };

pub struct Cuda {
    weight: Tensor,
    y: Tensor,
    gemv: Function,
}

impl Kernel for Cuda {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        if matches!(context.dtype, Dtype::Float64 | Dtype::Float8E4M3Fn) {
            return Err(context.unsupported("gemv.cu has fp32, bf16 and fp16"));
        }
        let gemv = SOURCE.function(&format!("gemv_{}", context.dtype.short()), context)?;
        // A row begins where an access of 16 bytes may.
        let values = 16 / context.dtype.bytes() as usize;
        if !size.in_features.is_multiple_of(values) || i32::try_from(size.in_features).is_err() {
            return Err(context.unsupported(&format!(
                "in_features is {}, but gemv.cu takes multiples of {values} below 2³¹",
                size.in_features
            )));
        }
        let options = (context.kind(), context.torch_device);
        let y = Tensor::f_full([size.out_features as i64], f64::NAN, options)?;
        Ok(Self { weight: parameters[0].shallow_clone(), y, gemv })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let (Self { weight, y, gemv }, x) = (self, &examples[0]);
        let (rows, features) = (y.numel(), x.numel() as i32);
        // Eight warps in a block.
        let grid = Grid::covering(rows * 32, 256)?;
        let arguments = [
            Argument::In(weight),
            Argument::In(x),
            Argument::Out(y),
            Argument::Long(rows as i64),
            Argument::Int(features),
        ];
        // SAFETY: the parameters of `gemv_…`, for weight [rows, features], x [features], y [rows],
        // each in memory that torch allocated, at a multiple of 16 bytes.
        unsafe { gemv.launch(grid, &arguments) }
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(self.y.shallow_clone())
    }

    fn flops(size: &ProblemSize) -> Option<u64> {
        Some(layer::flops(size.out_features, size.in_features))
    }

    fn bytes(size: &ProblemSize, dtype: Dtype) -> Option<u64> {
        Some(layer::bytes(size.out_features, size.in_features, dtype))
    }
}

//! Matrix-vector product by libtorch's `mv`, which is made for a single token.

use super::kernel::{ProblemSize, layer};
use criterion_torch::kernel::prelude::*;

pub struct Mv {
    weight: Tensor,
    y: Tensor,
}

impl Kernel for Mv {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let options = (context.kind(), context.torch_device);
        let y = Tensor::f_full([size.out_features as i64], f64::NAN, options)?;
        Ok(Self { weight: parameters[0].shallow_clone(), y })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.y = self.weight.f_mv(&examples[0])?;
        Ok(())
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

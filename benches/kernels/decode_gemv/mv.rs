//! Matrix-vector product by libtorch's `mv`, which is made for a single token.

#[path = "_layer.rs"]
mod layer;

use super::kernel::ProblemSize;
use criterion_torch::kernel::prelude::*;
use layer::Layer;

pub struct Mv {
    layer: Layer,
    y: Tensor,
}

impl Kernel for Mv {
    type ProblemSize = ProblemSize;

    fn prepare(size: &ProblemSize, context: &KernelContext) -> Result<Self, Refusal> {
        let layer = Layer::draw(size.out_features, size.in_features, context)?;
        let kind = layer.x.f_kind()?;
        let y = Tensor::f_full([size.out_features as i64], f64::NAN, (kind, context.torch_device))?;
        Ok(Self { layer, y })
    }

    fn run(&mut self) -> Result<(), Refusal> {
        self.y = self.layer.weight.f_mv(&self.layer.x)?;
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

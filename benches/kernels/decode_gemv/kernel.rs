//! A linear layer as a transformer runs it while it decodes: y = W·x for one token. Every weight is
//! read once and used once, so that memory decides how long it takes. By libtorch's `linear`.

#[path = "_layer.rs"]
mod layer;

use criterion_torch::kernel::prelude::*;
use layer::Layer;

/// The keys of `problem_size` in `bench.yaml`.
pub struct ProblemSize {
    pub out_features: usize,
    pub in_features: usize,
}

pub struct Linear {
    layer: Layer,
    /// `[1, in]`: a batch of one token, as models have it.
    token: Tensor,
    y: Tensor,
}

impl Kernel for Linear {
    type ProblemSize = ProblemSize;

    fn prepare(size: &ProblemSize, context: &KernelContext) -> Result<Self, Refusal> {
        let layer = Layer::draw(size.out_features, size.in_features, context)?;
        let token = layer.x.f_unsqueeze(0)?;
        let y = Tensor::f_full(
            [1, size.out_features as i64],
            f64::NAN,
            (token.f_kind()?, context.torch_device),
        );
        Ok(Self { layer, token, y: y? })
    }

    fn run(&mut self) -> Result<(), Refusal> {
        self.y = self.token.f_linear(&self.layer.weight, None::<&Tensor>)?;
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(self.y.f_squeeze_dim(0)?)
    }

    fn reference(&self) -> Result<Option<Tensor>, Refusal> {
        self.layer.reference().map(Some)
    }

    fn flops(size: &ProblemSize) -> Option<u64> {
        Some(layer::flops(size.out_features, size.in_features))
    }

    fn bytes(size: &ProblemSize, dtype: Dtype) -> Option<u64> {
        Some(layer::bytes(size.out_features, size.in_features, dtype))
    }
}

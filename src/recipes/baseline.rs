//! `baseline`: the linear layer as it is, in its high-precision dtype.

use tch::{TchError, Tensor};

use super::LinearLayer;

/// `y = x · Wᵀ` by `torch.nn.functional.linear`.
#[derive(Debug)]
pub struct Baseline {
    /// `[n, k]`, float32, bfloat16 or float16.
    pub weight: Tensor,
}

impl LinearLayer for Baseline {
    fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        x.f_linear(&self.weight, None::<&Tensor>)
    }

    fn forward_out(&self, x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        x.f_linear_out(out, &self.weight, None::<&Tensor>).map(drop)
    }

    fn tensors(&self) -> Vec<&Tensor> {
        vec![&self.weight]
    }

    fn kernels(&self) -> &'static [&'static str] {
        &["aten::mm"]
    }
}

//! The linear layers of a 2:4 sparse weight that is not quantized.

use tch::{TchError, Tensor};

use super::{Compressed, Cslt, DENSITY};
use crate::recipes::{LinearLayer, output_size};
use crate::refusal::Refusal;
use kernels::cpu::expand_2_4_and;

/// The layer of a pruned weight that is not quantized.
pub(in crate::recipes) fn layer(weight: &Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
    if weight.device().is_cuda() {
        let n = weight.size2()?.0;
        return Ok(Box::new(OnCuda { weight: Cslt::new(weight)?, n }));
    }
    Ok(Box::new(Expanded { weight: Compressed::new(weight)? }))
}

/// `y = x · expand(W)ᵀ`.
#[derive(Debug)]
struct Expanded {
    weight: Compressed,
}

impl LinearLayer for Expanded {
    fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        x.f_linear(&self.weight.expand()?, None::<&Tensor>)
    }

    fn forward_out(&self, x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        x.f_linear_out(out, &self.weight.expand()?, None::<&Tensor>).map(drop)
    }

    fn tensors(&self) -> Vec<&Tensor> {
        self.weight.tensors().to_vec()
    }

    fn kernels(&self) -> &'static [&'static str] {
        expand_2_4_and!["aten::mm"]
    }

    fn is_quantized(&self) -> bool {
        false
    }

    fn density(&self) -> Option<f64> {
        Some(DENSITY)
    }
}

/// `y = x · Wᵀ` by cuSPARSELt.
#[derive(Debug)]
struct OnCuda {
    weight: Cslt,
    n: i64,
}

impl LinearLayer for OnCuda {
    fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        let size = output_size(x, self.n);
        let k = x.size().last().copied().unwrap_or_default();
        let rows = x.f_reshape([-1, k])?;
        self.weight.product(&rows, 8, None)?.f_reshape(size)
    }

    fn tensors(&self) -> Vec<&Tensor> {
        self.weight.tensors().to_vec()
    }

    fn kernels(&self) -> &'static [&'static str] {
        &["aten::_cslt_sparse_mm"]
    }

    fn is_quantized(&self) -> bool {
        false
    }

    fn density(&self) -> Option<f64> {
        Some(DENSITY)
    }
}

//! `baseline`: the linear layer as it is, in its high-precision dtype.

use plan::{Dtype, Sparsity};
use tch::{TchError, Tensor};

use super::{LinearLayer, Quantized, Site, block_sparse, semi_sparse};
use crate::refusal::Refusal;

/// The recipe.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scheme;

impl super::Scheme for Scheme {
    fn check(&self, site: &Site) -> Result<(), String> {
        match site.variant.sparsity {
            Some(Sparsity::SemiSparse) => semi_sparse::check_unquantized(site),
            Some(Sparsity::Block) => block_sparse::check(site),
            None => Ok(()),
        }
    }

    fn quantize(&self, _weight: &Tensor) -> Result<Option<Quantized>, TchError> {
        Ok(None)
    }

    fn eager(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        Ok(Box::new(Baseline { weight }))
    }

    fn semi_sparse(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        semi_sparse::layer(&weight)
    }

    fn block_sparse(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        block_sparse::layer(&weight)
    }

    fn writes_out(&self) -> bool {
        true
    }

    fn min_sqnr_db(&self, dtype: Dtype) -> f64 {
        match dtype {
            Dtype::Float64 | Dtype::Float32 => 100.0,
            Dtype::BFloat16 | Dtype::Float8E4M3Fn => 45.0,
            Dtype::Float16 => 60.0,
        }
    }
}

/// `y = x · Wᵀ` by `torch.nn.functional.linear`.
#[derive(Debug)]
struct Baseline {
    /// `[n, k]`, float32, bfloat16 or float16.
    weight: Tensor,
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

    fn is_quantized(&self) -> bool {
        false
    }
}

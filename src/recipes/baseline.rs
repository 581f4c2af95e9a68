//! `baseline`: the linear layer as it is, in its high-precision dtype.

use plan::{Dtype, Sparsity};
use tch::{TchError, Tensor};

use super::semi_sparse::{self, Stored};
use super::{LayerContext, LinearLayer, Quantized, block_sparse, linear};
use crate::refusal::Refusal;

#[derive(Debug, Clone, Copy)]
pub(super) struct Scheme;

impl super::Scheme for Scheme {
    fn check(&self, context: &LayerContext) -> Result<(), String> {
        match context.variant.sparsity {
            Some(Sparsity::SemiSparse) => semi_sparse::check_unquantized(context),
            Some(Sparsity::Block) => block_sparse::check(context),
            None => Ok(()),
        }
    }

    fn quantize(&self, _weight: &Tensor) -> Result<Option<Quantized>, TchError> {
        Ok(None)
    }

    fn eager(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        Ok(Box::new(Baseline { weight: Stored::Dense(weight) }))
    }

    fn semi_sparse(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        if weight.device().is_cuda() {
            return Ok(Box::new(semi_sparse::OnCuda::new(&weight)?));
        }
        Ok(Box::new(Baseline { weight: Stored::compress(&weight)? }))
    }

    fn block_sparse(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        block_sparse::layer(&weight)
    }

    fn min_sqnr_db(&self, dtype: Dtype) -> f64 {
        match dtype {
            Dtype::Float64 | Dtype::Float32 => 100.0,
            Dtype::BFloat16 | Dtype::Float8E4M3Fn => 45.0,
            Dtype::Float16 => 60.0,
        }
    }
}

/// `y = x · Wᵀ`, W expanded at each call where half of it is stored.
#[derive(Debug)]
struct Baseline {
    /// `[n, k]`, float32, bfloat16 or float16.
    weight: Stored,
}

impl LinearLayer for Baseline {
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        linear(x, &self.weight.dense()?, out)
    }

    fn tensors(&self) -> Vec<&Tensor> {
        self.weight.tensors()
    }

    fn kernels(&self) -> Vec<&'static str> {
        self.weight.kernels(&["aten::mm"])
    }

    fn is_quantized(&self) -> bool {
        false
    }

    fn density(&self) -> Option<f64> {
        self.weight.density()
    }
}

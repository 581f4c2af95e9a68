//! `float8wo`: float8 weights, one scale per output channel, activations untouched.
//!
//! Source: torchao 0.17, `Float8WeightOnlyConfig` (version 2, its default).

use plan::Dtype;
use tch::{Kind, TchError, Tensor};

use super::float8::{self, Granularity};
use super::{LayerContext, LinearLayer, Quantized};
use crate::refusal::Refusal;

#[derive(Debug, Clone, Copy)]
pub(super) struct Scheme;

impl super::Scheme for Scheme {
    fn check(&self, _context: &LayerContext) -> Result<(), String> {
        Ok(())
    }

    fn quantize(&self, weight: &Tensor) -> Result<Option<Quantized>, TchError> {
        float8::quantize(weight, Granularity::Row).map(Some)
    }

    fn eager(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        let kind = weight.f_kind()?;
        Ok(Box::new(Float8wo { weight: float8::quantize_weight(&weight, Granularity::Row)?, kind }))
    }

    fn min_sqnr_db(&self, _dtype: Dtype) -> f64 {
        26.0
    }
}

/// `y = x · dequantized(q)ᵀ`: eager mode dequantizes the whole weight on every call, by way of
/// float32, so this saves memory and costs time.
#[derive(Debug)]
struct Float8wo {
    /// `[n, k]`.
    weight: Quantized,
    /// The dtype of the weight it came from, which the product is computed in.
    kind: Kind,
}

impl Float8wo {
    /// `[k, n]`, in the memory order of the weight.
    fn dequantized(&self) -> Result<Tensor, TchError> {
        let wide = self.weight.values.f_tr()?.f_to_kind(Kind::Float)?;
        let scaled = wide.f_mul(&self.weight.scale.f_tr()?)?;
        scaled.f_to_kind(self.kind)
    }
}

impl LinearLayer for Float8wo {
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        let Some(out) = out else { return x.f_matmul(&self.dequantized()?) };
        let (n, k) = self.weight.values.size2()?;
        let rows = out.f_view([-1, n])?;
        drop(x.f_reshape([-1, k])?.f_mm_out(&rows, &self.dequantized()?)?);
        Ok(out.shallow_clone())
    }

    fn tensors(&self) -> Vec<&Tensor> {
        self.weight.tensors()
    }

    fn kernels(&self) -> Vec<&'static str> {
        vec!["aten::_to_copy", "aten::mul", "aten::mm"]
    }
}

//! `int8dq_prefill_wo_decode`: int8dq for several tokens, weight only for a single one.
//!
//! Source: torchao 0.17, `Int8DynamicActivationInt8WeightConfig` version 1 with
//! `weight_only_decode`.
//!
//! Upstream takes the weight-only path where `x.shape[1] == 1`, and so does this. That is the number
//! of tokens of an input `[batch, tokens, k]`, but of an input `[rows, k]` the number of features: a
//! plain linear layer never takes it, not for one row either, and the transformer block's inputs have
//! 16 tokens. On the models of this version the recipe is int8dq with a question before it.
//!
//! The weight-only path is not that of int8wo: upstream finds no kernel for a float activation and
//! a weight without zero points, and so dequantizes the whole weight on every call.

use std::cell::Cell;

use plan::{Device, Dtype, Int8Numerics};
use tch::{TchError, Tensor};

use super::int8dq::{self, Int8dq};
use super::{LinearLayer, Quantized, Site, int8, int8dq_sparse, semi_sparse};
use crate::refusal::Refusal;

const NUMERICS: Int8Numerics = Int8Numerics::V1;

/// The recipe.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scheme;

impl super::Scheme for Scheme {
    fn check(&self, site: &Site) -> Result<(), String> {
        int8dq::check_width(NUMERICS, site.linear)?;
        if site.variant.sparsity.is_some() {
            semi_sparse::check(site, 32)?;
            if site.device == Device::Cuda {
                return Err("device cuda, but its 2:4 sparse layout is for the cpu".to_owned());
            }
        }
        int8dq::check_product(site.device, site.linear)
    }

    fn quantize(&self, weight: &Tensor) -> Result<Option<Quantized>, TchError> {
        int8dq::quantize_weight(weight, NUMERICS).map(Some)
    }

    fn quantize_activation(&self, x: &Tensor) -> Result<Option<Quantized>, TchError> {
        if is_decode(x) {
            return Ok(None);
        }
        int8::activation(x, NUMERICS).map(Some)
    }

    fn eager(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        let weight = int8dq::quantize_weight(&weight, NUMERICS)?;
        int8::refuse_overflowing_reciprocals(&weight.scale)?;
        let prefill = Int8dq { weight, numerics: NUMERICS };
        Ok(Box::new(PrefillWoDecode { prefill, decoded: Cell::new(None) }))
    }

    fn semi_sparse(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        int8dq_sparse::layer(&weight, NUMERICS, true)
    }

    fn writes_out(&self) -> bool {
        true
    }

    fn min_sqnr_db(&self, _dtype: Dtype) -> f64 {
        35.0
    }
}

/// Upstream's question: whether `x` holds a single token of each sequence.
pub(super) fn is_decode(x: &Tensor) -> bool {
    x.size().get(1) == Some(&1)
}

#[derive(Debug)]
struct PrefillWoDecode {
    prefill: Int8dq,
    /// Whether the last call was a single token; none before the first.
    decoded: Cell<Option<bool>>,
}

impl PrefillWoDecode {
    /// Notes which path this call takes.
    fn decodes(&self, x: &Tensor) -> bool {
        let decode = is_decode(x);
        self.decoded.set(Some(decode));
        decode
    }

    /// `q · scale` in the dtype of the weight it came from.
    fn dequantized(&self) -> Result<Tensor, TchError> {
        let Quantized { values, scale, .. } = &self.prefill.weight;
        values.f_to_kind(scale.f_kind()?)?.f_mul(scale)
    }
}

impl LinearLayer for PrefillWoDecode {
    fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        if !self.decodes(x) {
            return self.prefill.forward(x);
        }
        x.f_linear(&self.dequantized()?, None::<&Tensor>)
    }

    fn forward_out(&self, x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        if !self.decodes(x) {
            return self.prefill.forward_out(x, out);
        }
        x.f_linear_out(out, &self.dequantized()?, None::<&Tensor>).map(drop)
    }

    fn tensors(&self) -> Vec<&Tensor> {
        self.prefill.tensors()
    }

    /// The kernels of the last call; none before the first.
    fn kernels(&self) -> &'static [&'static str] {
        match self.decoded.get() {
            None => &[],
            Some(false) => self.prefill.kernels(),
            Some(true) => &["aten::_to_copy", "aten::mul", "aten::mm"],
        }
    }
}

//! `uintx-{bits}-{group}`: weights of few bits in groups.

use plan::Dtype;
use tch::{TchError, Tensor};

use super::{LinearLayer, Quantized, Site};
use crate::refusal::Refusal;

/// The recipe.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scheme {
    /// 1 to 8.
    pub bits: u8,
    /// Weights that share a scale.
    pub group: i64,
    /// Half-quadratic quantization of the group parameters.
    pub hqq: bool,
}

impl super::Scheme for Scheme {
    fn check(&self, _site: &Site) -> Result<(), String> {
        Err("not available in this version".to_owned())
    }

    fn quantize(&self, _weight: &Tensor) -> Result<Option<Quantized>, TchError> {
        Ok(None)
    }

    fn eager(&self, _weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        Err(Refusal::Unsupported("not available in this version".to_owned()))
    }

    fn min_sqnr_db(&self, _dtype: Dtype) -> f64 {
        18.0
    }
}

//! `int8wo`: int8 weights, one scale per output channel, activations untouched.
//!
//! Source: torchao 0.17, `Int8WeightOnlyConfig` version 1.

use plan::{Dtype, Int8Numerics};
use tch::{Kind, TchError, Tensor};

use super::affine::{self, Range};
use super::{LinearLayer, Quantized, Site, ZeroPoint, as_rows, output_size};
use crate::refusal::Refusal;

/// The recipe.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scheme {
    /// Whose roundings.
    pub numerics: Int8Numerics,
}

impl super::Scheme for Scheme {
    fn check(&self, site: &Site) -> Result<(), String> {
        if self.numerics != Int8Numerics::V1 || site.variant.packed {
            return Err("not available in this version".to_owned());
        }
        Ok(())
    }

    fn quantize(&self, weight: &Tensor) -> Result<Option<Quantized>, TchError> {
        let (scale, zero_point) = affine::choose_scale(weight, Range::WEIGHT)?;
        let zero_point = zero_point.f_to_kind(Kind::Int64)?;
        let values = affine::quantize(weight, &scale, Some(&zero_point), Range::WEIGHT)?;
        Ok(Some(Quantized {
            values,
            scale: scale.f_unsqueeze(-1)?,
            zero_point: ZeroPoint::Subtracted(zero_point.f_unsqueeze(-1)?),
        }))
    }

    fn eager(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        Ok(Box::new(Int8wo::quantize(&weight)?))
    }

    fn writes_out(&self) -> bool {
        true
    }

    fn min_sqnr_db(&self, _dtype: Dtype) -> f64 {
        38.0
    }
}

/// `y = (x · q.to(x.dtype)ᵀ) · scale`: eager mode converts the whole weight on every call, so this
/// saves memory and costs time. (The faster `aten::_weight_int8pack_mm` is not what upstream runs.)
#[derive(Debug)]
pub struct Int8wo {
    /// `[n, k]`, int8, −128 to 127.
    pub weight: Tensor,
    /// `[n]`, in the dtype of the weight it came from: `max(amax / 127.5, 2⁻²³)`.
    pub scale: Tensor,
    /// `[n]`, int64, all zero. No computation reads it; it is kept because upstream stores it,
    /// and so it counts as weight memory: 8 bytes per output channel.
    pub zero_point: Tensor,
}

impl Int8wo {
    /// Quantizes `weight [n, k]`, float32, bfloat16 or float16, in its own dtype.
    pub fn quantize(weight: &Tensor) -> Result<Self, TchError> {
        let (scale, zero_point) = affine::choose_scale(weight, Range::WEIGHT)?;
        let zero_point = zero_point.f_to_kind(Kind::Int64)?;
        let weight = affine::quantize(weight, &scale, Some(&zero_point), Range::WEIGHT)?;
        Ok(Self { weight, scale, zero_point })
    }

    /// `x · q.to(x.dtype)ᵀ`, `[rows, n]`.
    fn product(&self, x: &Tensor) -> Result<Tensor, TchError> {
        let (_, k) = self.weight.size2()?;
        let converted = self.weight.f_tr()?.f_to_kind(x.f_kind()?)?;
        x.f_reshape([-1, k])?.f_mm(&converted)
    }
}

impl LinearLayer for Int8wo {
    fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        let (n, _) = self.weight.size2()?;
        self.product(x)?.f_mul(&self.scale)?.f_reshape(output_size(x, n))
    }

    fn forward_out(&self, x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        let (n, _) = self.weight.size2()?;
        self.product(x)?.f_mul_out(&as_rows(out, n)?, &self.scale).map(drop)
    }

    fn tensors(&self) -> Vec<&Tensor> {
        vec![&self.weight, &self.scale, &self.zero_point]
    }

    fn kernels(&self) -> &'static [&'static str] {
        &["aten::_to_copy", "aten::mm"]
    }
}

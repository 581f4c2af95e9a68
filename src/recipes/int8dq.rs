//! `int8dq`: int8 weights per output channel, activations quantized to int8 per token at every
//! call, integer matrix product.
//!
//! Source: torchao 0.17, `Int8DynamicActivationInt8WeightConfig` version 1.

use plan::{Device, Dtype, Int8Numerics, LinearShape};
use tch::{Kind, TchError, Tensor};

use super::affine::{self, Range};
use super::{LinearLayer, Quantized, Site, ZeroPoint, as_rows, output_size};
use crate::refusal::Refusal;

/// The recipe.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scheme {
    /// Whose roundings.
    pub numerics: Int8Numerics,
    /// `int8dq_prefill_wo_decode`: a single token is not quantized.
    pub decode: bool,
}

impl super::Scheme for Scheme {
    fn check(&self, site: &Site) -> Result<(), String> {
        if self.numerics != Int8Numerics::V1 || self.decode || site.variant.sparsity.is_some() {
            return Err("not available in this version".to_owned());
        }
        check(site.device, site.linear)
    }

    fn quantize(&self, weight: &Tensor) -> Result<Option<Quantized>, TchError> {
        let (scale, _) = affine::choose_scale(weight, Range::WEIGHT)?;
        let values = affine::quantize(weight, &scale, None, Range::WEIGHT)?;
        let scale = scale.f_unsqueeze(-1)?;
        Ok(Some(Quantized { values, scale, zero_point: ZeroPoint::None }))
    }

    fn quantize_activation(&self, x: &Tensor) -> Result<Option<Quantized>, TchError> {
        let QuantizedActivation { values, scale } = Int8dq::quantize_activation(x)?;
        let scale = scale.f_unsqueeze(-1)?;
        Ok(Some(Quantized { values, scale, zero_point: ZeroPoint::None }))
    }

    fn eager(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        Ok(Box::new(Int8dq::quantize(&weight)?))
    }

    fn writes_out(&self) -> bool {
        true
    }

    fn min_sqnr_db(&self, _dtype: Dtype) -> f64 {
        35.0
    }
}

/// `y = ((q_x · q_wᵀ) · s_x) · s_w`, the integer sums exact, both products rounded to the dtype of
/// `s_x`.
#[derive(Debug)]
pub struct Int8dq {
    /// `[n, k]`, int8, −128 to 127.
    pub weight: Tensor,
    /// `[n]`, in the dtype of the weight it came from: `max(amax / 127.5, 2⁻²³)`. There is no zero
    /// point.
    pub scale: Tensor,
}

/// Activations quantized per token.
#[derive(Debug)]
pub struct QuantizedActivation {
    /// The size of the activation, int8, −127 to 127.
    pub values: Tensor,
    /// One per token (all dimensions but the last): `max(amax / 127, 1e-5)`, in the activation's
    /// dtype; float32 for a float16 activation, whose range the rescaled sums would leave.
    pub scale: Tensor,
}

impl Int8dq {
    /// Quantizes `weight [n, k]`, float32, bfloat16 or float16, in its own dtype.
    pub fn quantize(weight: &Tensor) -> Result<Self, TchError> {
        let (scale, _) = affine::choose_scale(weight, Range::WEIGHT)?;
        let weight = affine::quantize(weight, &scale, None, Range::WEIGHT)?;
        Ok(Self { weight, scale })
    }

    /// Quantizes an activation `[.., k]`.
    pub fn quantize_activation(x: &Tensor) -> Result<QuantizedActivation, TchError> {
        let (mut scale, zero_point) = affine::choose_scale(x, Range::ACTIVATION)?;
        if x.f_kind()? == Kind::Half {
            scale = scale.f_to_kind(Kind::Float)?;
        }
        let values = affine::quantize(x, &scale, Some(&zero_point), Range::ACTIVATION)?;
        Ok(QuantizedActivation { values, scale })
    }

    /// Passes `(q_x · q_wᵀ) · s_x`, `[rows, n]`, to `finish`, while everything is alive that
    /// upstream's function holds to its end: peak memory is compared too.
    fn rescaled<T>(
        &self,
        x: &Tensor,
        finish: impl FnOnce(Tensor) -> Result<T, TchError>,
    ) -> Result<T, TchError> {
        let (n, k) = self.weight.size2()?;
        let activation = Self::quantize_activation(x)?;
        let rows = activation.values.f_reshape([-1, k])?;
        let weight = self.weight.f_tr()?;
        let row_scale = activation.scale.f_reshape([-1, 1])?;
        let row_scale = row_scale.f_expand([rows.size2()?.0, n], false)?;

        let y = if x.device().is_cuda() {
            // Upstream copies the transposed weight on every call, because its integer product
            // once gave wrong results without.
            let weight = weight.f_contiguous()?;
            let sums = rows.f_internal_int_mm(&weight)?;
            sums.f_mul(&row_scale)?
        } else {
            let sums = rows.f_internal_int_mm(&weight)?;
            sums.f_to_kind(activation.scale.f_kind()?)?.f_mul(&row_scale)?
        };
        finish(y)
    }
}

impl LinearLayer for Int8dq {
    fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        let (n, _) = self.weight.size2()?;
        self.rescaled(x, |mut y| {
            y = y.f_mul(&self.scale)?;
            y.f_reshape(output_size(x, n))?.f_to_kind(x.f_kind()?)
        })
    }

    fn forward_out(&self, x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        let (n, _) = self.weight.size2()?;
        let mut rows = as_rows(out, n)?;
        self.rescaled(x, |mut y| {
            if y.f_kind()? == rows.f_kind()? {
                return y.f_mul_out(&rows, &self.scale).map(drop);
            }
            // A float16 activation was rescaled in float32: the conversion is the last operation.
            y = y.f_mul(&self.scale)?;
            rows.f_copy_(&y)
        })
    }

    fn tensors(&self) -> Vec<&Tensor> {
        vec![&self.weight, &self.scale]
    }

    fn kernels(&self) -> &'static [&'static str] {
        if self.weight.device().is_cuda() {
            &["aten::clone", "aten::_int_mm"]
        } else {
            &["aten::_int_mm"]
        }
    }
}

/// Upstream leaves weights with `k <= 16` unquantized, and on CUDA falls back to an integer product
/// on the host or to a float one where cuBLAS has none. Neither would be int8dq.
fn check(device: Device, linear: LinearShape) -> Result<(), String> {
    let LinearShape { rows, k, n, .. } = linear;
    if k <= 16 {
        return Err(format!("k = {k}, but int8dq quantizes only weights with k > 16"));
    }
    if device == Device::Cuda {
        if rows <= 16 {
            return Err(format!("{rows} rows, but `_int_mm` on cuda needs more than 16"));
        }
        for (dimension, size) in [("k", k), ("n", n)] {
            if size % 8 != 0 {
                return Err(format!(
                    "{dimension} = {size}, but `_int_mm` on cuda needs a multiple of 8"
                ));
            }
        }
    }
    Ok(())
}

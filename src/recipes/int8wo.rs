//! `int8wo`: int8 weights, one scale per output channel, activations untouched.
//!
//! Sources: torchao 0.17, `Int8WeightOnlyConfig` version 1 (`int8wo`) and version 2 (`int8wo-v2`);
//! torchao 0.18, `Int8WeightOnlyConfig` (`int8wo-v018`).

use plan::{Device, Dtype, Int8Numerics, LinearShape};
use tch::{TchError, Tensor};

use super::{LayerContext, LinearLayer, Quantized, int8, output_size, refuse_out};
use crate::refusal::Refusal;

#[derive(Debug, Clone, Copy)]
pub(super) struct Scheme {
    pub numerics: Int8Numerics,
}

impl Scheme {
    fn quantize_weight(self, weight: &Tensor) -> Result<Quantized, TchError> {
        int8::weight(weight, self.numerics, Some(int8::zero_point_kind(self.numerics)))
    }

    fn quantize_or_refuse(self, weight: &Tensor) -> Result<Quantized, Refusal> {
        let quantized = self.quantize_weight(weight)?;
        int8::refuse_overflowing_reciprocals(&quantized.scale)?;
        Ok(quantized)
    }
}

impl super::Scheme for Scheme {
    fn check(&self, context: &LayerContext) -> Result<(), String> {
        if context.variant.packed { check_packed(context.device, context.linear) } else { Ok(()) }
    }

    fn quantize(&self, weight: &Tensor) -> Result<Option<Quantized>, TchError> {
        self.quantize_weight(weight).map(Some)
    }

    fn eager(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        Ok(Box::new(Int8wo { weight: self.quantize_or_refuse(&weight)? }))
    }

    fn packed(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        let Quantized { values, scale, .. } = self.quantize_or_refuse(&weight)?;
        let scale = scale.f_to_kind(weight.f_kind()?)?.f_reshape([-1])?;
        Ok(Box::new(Packed { weight: values, scale }))
    }

    fn min_sqnr_db(&self, _dtype: Dtype) -> f64 {
        38.0
    }
}

/// `y = (x · q.to(x.dtype)ᵀ) · scale.to(x.dtype)`: eager mode converts the whole weight on every
/// call, so this saves memory and costs time.
#[derive(Debug)]
struct Int8wo {
    /// No computation reads the zero points; they are kept because upstream stores them, and so
    /// they count as weight memory: 8 bytes per output channel in version 1, else 1.
    weight: Quantized,
}

impl LinearLayer for Int8wo {
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        let Quantized { values, scale, .. } = &self.weight;
        let (n, k) = values.size2()?;
        let y = {
            let converted = values.f_tr()?.f_to_kind(x.f_kind()?)?;
            x.f_reshape([-1, k])?.f_mm(&converted)?
        };
        let scale = scale.f_to_kind(y.f_kind()?)?.f_reshape([-1])?;
        let Some(out) = out else { return y.f_mul(&scale)?.f_reshape(output_size(x, n)) };
        drop(y.f_mul_out(&out.f_view([-1, n])?, &scale)?);
        Ok(out.shallow_clone())
    }

    fn tensors(&self) -> Vec<&Tensor> {
        self.weight.tensors()
    }

    fn kernels(&self) -> Vec<&'static str> {
        vec!["aten::_to_copy", "aten::mm"]
    }
}

/// `y = (x · qᵀ) · scale` by `aten::_weight_int8pack_mm`, which converts the weight in registers.
/// Upstream's eager mode does not call it.
#[derive(Debug)]
struct Packed {
    /// `[n, k]`, int8.
    weight: Tensor,
    /// `[n]`, in the dtype of the weight it came from, which the op demands of it. The scales were
    /// computed in that dtype, so the conversion loses nothing. There is no zero point.
    scale: Tensor,
}

impl LinearLayer for Packed {
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        refuse_out(out)?;
        let (n, k) = self.weight.size2()?;
        // The op takes a matrix; in bfloat16 it reads as if rows were k apart, whatever their
        // stride says.
        let rows = x.f_reshape([-1, k])?.f_contiguous()?;
        rows.f_internal_weight_int8pack_mm(&self.weight, &self.scale)?.f_reshape(output_size(x, n))
    }

    fn tensors(&self) -> Vec<&Tensor> {
        vec![&self.weight, &self.scale]
    }

    fn kernels(&self) -> Vec<&'static str> {
        vec!["aten::_weight_int8pack_mm"]
    }
}

/// On the CPU the op reads whole vectors, in bfloat16 beyond the last row of a weight too: a crash or
/// garbage, unless k is a multiple of 16. On CUDA any k will do, but its kernel counts elements in
/// 32 bits and rows in blocks of 16, and does not notice when they are too many.
fn check_packed(device: Device, linear: LinearShape) -> Result<(), String> {
    let LinearShape { rows, k, n, .. } = linear;
    if device != Device::Cuda {
        return match k % 16 {
            0 => Ok(()),
            _ => Err(format!("k = {k}, but `_weight_int8pack_mm` needs a multiple of 16")),
        };
    }
    const MOST_ROWS: u64 = 16 * 65_535;
    if rows > MOST_ROWS {
        return Err(format!(
            "{rows} rows, but `_weight_int8pack_mm` on cuda takes at most {MOST_ROWS}"
        ));
    }
    for (name, a, b) in [("rows · k", rows, k), ("n · k", n, k), ("rows · n", rows, n)] {
        let elements = u128::from(a) * u128::from(b);
        if elements > 1 << 31 {
            return Err(format!(
                "{name} = {elements}, but `_weight_int8pack_mm` on cuda takes at most 2³¹"
            ));
        }
    }
    Ok(())
}

//! `uintx-{bits}-{group}`: weights of few bits in groups, dequantized at every call; activations
//! untouched.
//!
//! Source: torchao 0.14.1, `UIntXWeightOnlyConfig` with its `UintxLayout`. That layout packs 1 to 7
//! bits; the configuration takes `uint8` too, and then fails in it. Here 8 bits are stored as the
//! bytes that they are. With HQQ upstream does not pack: any number of bits takes a byte.

use plan::Dtype;
use tch::{Kind, TchError, Tensor};

use super::groups::{self, Grouped};
use super::int4pack::{self, Int4Packed};
use super::quantized::refuse_non_finite;
use super::{LayerContext, LinearLayer, Quantized, bitpack, hqq, linear};
use crate::refusal::Refusal;

#[derive(Debug, Clone, Copy)]
pub(super) struct Scheme {
    /// 1 to 8.
    pub bits: u8,
    pub group: i64,
    pub hqq: bool,
}

impl Scheme {
    /// The zero point is added with HQQ, an integer that is subtracted without.
    fn quantize_weight(&self, weight: &Tensor) -> Result<Grouped, TchError> {
        if !self.hqq {
            return groups::affine(weight, self.group, self.bits);
        }
        let solver = hqq::solver_kind(weight.device());
        hqq::solve(weight, self.group, self.bits, solver)?
            .with_added_zero(self.bits, weight.f_kind()?)
    }

    fn is_packed(&self) -> bool {
        !self.hqq && self.bits < 8
    }
}

impl super::Scheme for Scheme {
    fn check(&self, context: &LayerContext) -> Result<(), String> {
        if context.variant.packed {
            return int4pack::check(context, self.group);
        }
        let k = context.linear.k;
        if self.is_packed() && !k.is_multiple_of(bitpack::LANES) {
            return Err(format!("k = {k}, but packing needs a multiple of {}", bitpack::LANES));
        }
        groups::check(k, self.group)
    }

    fn quantize(&self, weight: &Tensor) -> Result<Option<Quantized>, TchError> {
        let quantized = self.quantize_weight(weight)?;
        Ok(Some(match self.hqq {
            true => quantized.with_added_zero(groups::middle(self.bits)),
            false => quantized.with_subtracted_zero(),
        }))
    }

    fn eager(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        let Grouped { values, scale, zero_point } = self.quantize_weight(&weight)?;
        refuse_non_finite(&scale, Some(&zero_point))?;
        drop(weight);
        let values = match self.is_packed() {
            true => Values::Packed { shards: bitpack::pack(&values, self.bits)?, bits: self.bits },
            false => Values::Plain(values),
        };
        let added_zero = self.hqq.then(|| groups::middle(self.bits));
        Ok(Box::new(Uintx { values, scale, zero_point, added_zero }))
    }

    /// `(q − z) · s = (q − 8) · s + (8 − z) · s`, the last product rounded to the weight's dtype.
    fn packed(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        let (n, _) = weight.size2()?;
        let mut quantized = self.quantize_weight(&weight)?;
        drop(weight);
        if !self.hqq {
            let kind = Kind::Float;
            let offset = quantized.zero_point.f_neg()?.f_add_scalar(groups::middle(4))?;
            let zero_point = offset.f_to_kind(kind)?.f_mul(&quantized.scale.f_to_kind(kind)?)?;
            quantized.zero_point = zero_point.f_to_kind(quantized.scale.f_kind()?)?;
        }
        Ok(Box::new(Int4Packed::new(quantized, self.group, n)?))
    }

    /// A bit is worth 6 dB.
    fn min_sqnr_db(&self, _dtype: Dtype) -> f64 {
        match (self.bits, self.hqq) {
            // HQQ's one bit stands for minimum and maximum, so normal weights come out too large.
            (1, true) => -16.0,
            (1, false) => -2.0,
            (bits, _) => (6.0 * f64::from(bits) - 6.0).min(38.0),
        }
    }
}

#[derive(Debug)]
enum Values {
    /// uint8 `[n, k]`.
    Plain(Tensor),
    /// [`bitpack::pack`]'s shards.
    Packed { shards: Vec<Tensor>, bits: u8 },
}

/// `y = x · Wᵀ`, `W` restored in the dtype it had, at every call.
#[derive(Debug)]
struct Uintx {
    values: Values,
    /// `[n, k / group]`, in the dtype of the weight it came from.
    scale: Tensor,
    /// `[n, k / group]`; in that dtype where it is added, else int32.
    zero_point: Tensor,
    /// The middle that is subtracted where the zero point is added; none where that is subtracted.
    added_zero: Option<i64>,
}

impl Uintx {
    /// The weight. Integers are held to the end, as upstream's function holds them.
    fn dequantize(&self) -> Result<Tensor, TchError> {
        let values = match &self.values {
            Values::Plain(values) => values.shallow_clone(),
            Values::Packed { shards, bits } => bitpack::unpack(shards, *bits)?,
        };
        let (n, k) = values.size2()?;
        let (_, count) = self.scale.size2()?;
        let groups = values.f_view([n, count, k / count])?;
        let (scale, zero_point) = (self.scale.f_unsqueeze(-1)?, self.zero_point.f_unsqueeze(-1)?);
        let kind = scale.f_kind()?;
        let mut weight;
        if let Some(middle) = self.added_zero {
            // A float is subtracted: the difference is float32.
            weight = groups.f_sub_scalar(middle as f64)?;
            weight = weight.f_to_kind(kind)?;
            weight = weight.f_mul_(&scale)?.f_add_(&zero_point)?;
        } else {
            weight = groups.f_to_kind(kind)?;
            weight = weight.f_sub(&zero_point.f_to_kind(kind)?)?;
            weight = weight.f_mul(&scale)?;
        }
        weight.f_view([n, k])
    }
}

impl LinearLayer for Uintx {
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        linear(x, &self.dequantize()?, out)
    }

    fn tensors(&self) -> Vec<&Tensor> {
        let values = match &self.values {
            Values::Plain(values) => std::slice::from_ref(values),
            Values::Packed { shards, .. } => shards,
        };
        values.iter().chain([&self.scale, &self.zero_point]).collect()
    }

    fn kernels(&self) -> Vec<&'static str> {
        match (&self.values, self.added_zero) {
            (Values::Packed { .. }, _) => vec![
                "aten::bitwise_right_shift",
                "aten::bitwise_and",
                "aten::copy_",
                "aten::bitwise_left_shift",
                "aten::bitwise_or",
                "aten::_to_copy",
                "aten::sub",
                "aten::mul",
                "aten::mm",
            ],
            (Values::Plain(_), None) => {
                vec!["aten::_to_copy", "aten::sub", "aten::mul", "aten::mm"]
            }
            (Values::Plain(_), Some(_)) => {
                vec!["aten::sub", "aten::_to_copy", "aten::mul_", "aten::add_", "aten::mm"]
            }
        }
    }
}

//! Asymmetric parameters of groups of weights, from their minimum and maximum, op by op as torchao
//! computes them: in the dtype of the weight, rounded at each step.

use tch::{Kind, TchError, Tensor};

use super::{Quantized, ZeroPoint};

/// A weight quantized in groups. Its maker says what the zero point means.
#[derive(Debug)]
pub(super) struct Grouped {
    /// `[n, k]`, uint8, 0 to [`largest`].
    pub values: Tensor,
    /// `[n, k / group]`.
    pub scale: Tensor,
    /// `[n, k / group]`.
    pub zero_point: Tensor,
}

impl Grouped {
    /// This weight, for `(value − middle) · scale + zero_point`.
    pub fn with_added_zero(self, middle: i64) -> Quantized {
        let Self { values, scale, zero_point } = self;
        Quantized { values, scale, zero_point: ZeroPoint::Added { zero_point, middle } }
    }

    /// This weight, for `(value − zero_point) · scale`.
    pub fn with_subtracted_zero(self) -> Quantized {
        let Self { values, scale, zero_point } = self;
        Quantized { values, scale, zero_point: ZeroPoint::Subtracted(zero_point) }
    }
}

/// The middle of 4 bits.
const INT4_MIDDLE: i64 = middle(4);

pub(super) const fn largest(bits: u8) -> i64 {
    (1 << bits) - 1
}

/// The middle of so many bits, which is subtracted where the zero point is added.
pub(super) const fn middle(bits: u8) -> i64 {
    1 << (bits - 1)
}

/// `Ok` if `group` divides `k`. Upstream leaves such a weight as it is, or fails.
pub(super) fn check(k: u64, group: i64) -> Result<(), String> {
    match u64::try_from(group) {
        Ok(size) if size > 0 && k.is_multiple_of(size) => Ok(()),
        _ => Err(format!("k = {k}, but the group of {group} must divide it")),
    }
}

/// 4 bits whose zero point is a float that is added, as tinygemm takes them. Zero need not be
/// among the values that they stand for.
///
/// `scale = max((max − min) / 15, eps)`, `zero_point = min + 8 · scale`,
/// `value = clamp(round((w − (zero_point − 8 · scale)) / scale), 0, 15)`.
///
/// Source: torchao 0.17, `_choose_qparams_affine_tinygemm` and `_quantize_affine_tinygemm`.
pub(super) fn tinygemm(weight: &Tensor, group: i64, eps: f64) -> Result<Grouped, TchError> {
    let (n, k) = weight.size2()?;
    let groups = weight.f_reshape([n, k / group, group])?;
    let (min, max) = (groups.f_amin([-1], true)?, groups.f_amax([-1], true)?);
    let scale = max.f_sub(&min)?.f_div_scalar(largest(4) as f64)?.f_clamp_min(eps)?;
    let zero_point = min.f_add(&scale.f_mul_scalar(INT4_MIDDLE)?)?;

    let lowest = zero_point.f_sub(&scale.f_mul_scalar(INT4_MIDDLE)?)?;
    let mut values = groups.f_sub(&lowest)?;
    values = values.f_div_(&scale)?.f_round_()?.f_clamp_(0, largest(4))?;
    Ok(Grouped {
        values: values.f_to_kind(Kind::Uint8)?.f_reshape([n, k])?,
        scale: scale.f_squeeze_dim(-1)?,
        zero_point: zero_point.f_squeeze_dim(-1)?,
    })
}

/// Up to 8 bits whose zero point is an integer, so that zero is among the values.
///
/// With minimum and maximum widened to zero: `scale = max((max − min) / largest, 2⁻²³)`,
/// `zero_point = clamp(−round(min / scale), 0, largest)` in int32,
/// `value = clamp(round(w · (1 / scale)) + zero_point, 0, largest)`.
///
/// In float16 the reciprocal of a scale below 1.5e-5 is infinite, as it is upstream.
///
/// Source: torchao 0.14.1, `choose_qparams_affine` and `quantize_affine`.
pub(super) fn affine(weight: &Tensor, group: i64, bits: u8) -> Result<Grouped, TchError> {
    let (n, k) = weight.size2()?;
    let groups = weight.f_reshape([n, k / group, group])?;
    let lowest = groups.f_amin([-1], true)?.f_clamp_max(0)?;
    let highest = groups.f_amax([-1], true)?.f_clamp_min(0)?;
    let mut scale = highest.f_sub(&lowest)?.f_div_scalar(largest(bits) as f64)?;
    scale = scale.f_clamp_min(f64::from(f32::EPSILON))?;
    let mut zero_point = lowest.f_div(&scale)?.f_round()?.f_neg()?;
    zero_point = zero_point.f_clamp(0, largest(bits))?.f_to_kind(Kind::Int)?;

    let mut values = groups.f_mul(&scale.f_reciprocal()?)?;
    values = values.f_round_()?.f_add_(&zero_point)?.f_clamp_(0, largest(bits))?;
    Ok(Grouped {
        values: values.f_to_kind(Kind::Uint8)?.f_reshape([n, k])?,
        scale: scale.f_squeeze_dim(-1)?,
        zero_point: zero_point.f_squeeze_dim(-1)?,
    })
}

#[cfg(test)]
#[path = "groups_tests.rs"]
mod tests;

//! The numbers of a quantized tensor.

use tch::{Kind, TchError, Tensor};

use crate::refusal::Refusal;

/// A quantized tensor before packing: one element per value, and the parameters of its groups.
///
/// ```
/// use criterion_torch::recipes::{Quantized, Tensor, ZeroPoint};
///
/// let quantized = Quantized {
///     values: Tensor::from_slice(&[1_i8, -2]).f_reshape([1, 2])?,
///     scale: Tensor::from_slice(&[0.5_f32]).f_reshape([1, 1])?,
///     zero_point: ZeroPoint::None,
/// };
/// assert_eq!(quantized.dequantize()?.f_double_value(&[0, 1])?, -1.0);
/// # Ok::<(), criterion_torch::recipes::TchError>(())
/// ```
#[derive(Debug)]
pub struct Quantized {
    /// The size of the tensor it came from; int8, uint8 from 0 to 2^bits − 1, a float8, or the codes
    /// of 6-bit floats.
    pub values: Tensor,
    /// `[rows, groups]`, groups running along the last dimension: `[rows, 1]` per row, `[1, 1]` per
    /// tensor.
    pub scale: Tensor,
    /// The zero point.
    pub zero_point: ZeroPoint,
}

/// How the zero of a group enters.
///
/// ```
/// use criterion_torch::recipes::{Tensor, ZeroPoint};
///
/// assert!(ZeroPoint::None.tensor().is_none());
/// assert!(ZeroPoint::Subtracted(Tensor::from(8.0)).tensor().is_some());
/// ```
#[derive(Debug)]
pub enum ZeroPoint {
    /// `value · scale`; nothing is stored.
    None,
    /// `(value − zero_point) · scale`; the size of the scale.
    Subtracted(Tensor),
    /// `(value − middle) · scale + zero_point`; the size of the scale.
    Added {
        /// The zero points.
        zero_point: Tensor,
        /// 8 for 4 bits.
        middle: i64,
    },
    /// `value · scale`, the values being codes of 6-bit floating-point numbers, `00SEEEMM`, which
    /// have a zero of their own; nothing is stored.
    Float6,
}

impl ZeroPoint {
    /// The stored zero points.
    pub fn tensor(&self) -> Option<&Tensor> {
        match self {
            Self::None | Self::Float6 => None,
            Self::Subtracted(zero_point) | Self::Added { zero_point, .. } => Some(zero_point),
        }
    }
}

impl Quantized {
    /// The tensors that are stored.
    pub(super) fn tensors(&self) -> Vec<&Tensor> {
        let mut tensors = vec![&self.values, &self.scale];
        tensors.extend(self.zero_point.tensor());
        tensors
    }

    /// The values that the integers stand for, float32 `[rows, k]`, computed in float32.
    pub fn dequantize(&self) -> Result<Tensor, TchError> {
        let float = |tensor: &Tensor| tensor.f_to_kind(Kind::Float);
        let columns = self.values.size().last().copied().unwrap_or_default();
        let values = match self.zero_point {
            ZeroPoint::Float6 => super::fp6::decode(&self.values)?,
            _ => float(&self.values)?,
        };
        let values = values.f_reshape([-1, columns])?;
        // One scale for the whole tensor has one row, and takes all of it for a group.
        let (rows, groups) = self.scale.size2()?;
        let grouped = values.f_reshape([rows, groups, -1])?;
        let scale = float(&self.scale)?.f_unsqueeze(-1)?;
        let result = match &self.zero_point {
            ZeroPoint::None | ZeroPoint::Float6 => grouped.f_mul(&scale)?,
            ZeroPoint::Subtracted(zero) => {
                grouped.f_sub(&float(zero)?.f_unsqueeze(-1)?)?.f_mul(&scale)?
            }
            ZeroPoint::Added { zero_point, middle } => grouped
                .f_sub_scalar(*middle)?
                .f_mul(&scale)?
                .f_add(&float(zero_point)?.f_unsqueeze(-1)?)?,
        };
        result.f_reshape([-1, columns])
    }
}

/// Refused unless every parameter is a number: where the dtype does not hold a group's range, or
/// HQQ's solver overflows in float16, there are infinities, and the integers beside them mean
/// nothing.
///
/// ```
/// use criterion_torch::recipes::{Tensor, refuse_non_finite};
///
/// let refusal = refuse_non_finite(&Tensor::from(f64::INFINITY), None).unwrap_err();
/// assert_eq!(refusal.to_string(), "unsupported: the scale of 1 of 1 groups is NaN or infinite");
/// ```
pub fn refuse_non_finite(scale: &Tensor, zero_point: Option<&Tensor>) -> Result<(), Refusal> {
    let scale = Some(("scale", scale));
    let zero_point = zero_point.map(|zero_point| ("zero point", zero_point));
    for (name, parameter) in scale.into_iter().chain(zero_point) {
        let broken = parameter.f_isfinite()?.f_logical_not()?;
        let broken = broken.f_count_nonzero(None::<i64>)?.f_int64_value(&[])?;
        if broken > 0 {
            return Err(Refusal::Unsupported(format!(
                "the {name} of {broken} of {} groups is NaN or infinite",
                parameter.numel()
            )));
        }
    }
    Ok(())
}

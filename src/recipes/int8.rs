//! The numbers of int8 weights and activations, one scale per row, in each of torchao's numerics.
//!
//! Sources: torchao 0.17, version 1 of the int8 configurations (`to_affine_quantized_intx`) and
//! version 2 (`Int8Tensor`); torchao 0.18, `Int8Tensor`, which keeps its scales in float32.

use plan::Int8Numerics;
use tch::{Kind, TchError, Tensor};

use super::affine::{self, Range};
use super::{Quantized, ZeroPoint};
use crate::refusal::Refusal;

/// The dtype in which the zero points of a weight-only layer are stored; they are all zero.
pub(super) fn zero_point_kind(numerics: Int8Numerics) -> Kind {
    match numerics {
        Int8Numerics::V1 => Kind::Int64,
        Int8Numerics::V2 | Int8Numerics::V018 => Kind::Int8,
    }
}

/// The numbers of a `weight [n, k]`, float32, bfloat16 or float16: amax is mapped to 127.5. The
/// zero points are of the dtype that upstream stores them in; none where it stores none.
pub(super) fn weight(
    weight: &Tensor,
    numerics: Int8Numerics,
    zero_point: Option<Kind>,
) -> Result<Quantized, TchError> {
    let (mut scale, zeros) = affine::choose_scale(weight, Range::WEIGHT)?;
    if numerics == Int8Numerics::V018 {
        scale = scale.f_to_kind(Kind::Float)?;
    }
    let zero_point = zero_point.map(|kind| zeros.f_to_kind(kind)).transpose()?;
    let values = affine::quantize(weight, &scale, zero_point.as_ref(), Range::WEIGHT)?;
    Ok(Quantized {
        values,
        scale: scale.f_unsqueeze(-1)?,
        zero_point: match zero_point {
            Some(zero_point) => ZeroPoint::Subtracted(zero_point.f_unsqueeze(-1)?),
            None => ZeroPoint::None,
        },
    })
}

/// The numbers of an activation `[.., k]`, one scale per token (all dimensions but the last).
///
/// Version 1 maps amax to 127 and returns no zero points; its scale is in the dtype of `x`, and in
/// float32 for a float16 activation, whose range the rescaled sums would leave. The others treat
/// an activation like a weight.
pub(super) fn activation(x: &Tensor, numerics: Int8Numerics) -> Result<Quantized, TchError> {
    if numerics != Int8Numerics::V1 {
        return weight(x, numerics, Some(zero_point_kind(numerics)));
    }
    let (mut scale, zeros) = affine::choose_scale(x, Range::ACTIVATION)?;
    if x.f_kind()? == Kind::Half {
        scale = scale.f_to_kind(Kind::Float)?;
    }
    let values = affine::quantize(x, &scale, Some(&zeros), Range::ACTIVATION)?;
    Ok(Quantized { values, scale: scale.f_unsqueeze(-1)?, zero_point: ZeroPoint::None })
}

/// A float16 row whose amax is below about 0.002 has a scale whose reciprocal overflows to
/// infinity: its zeros become NaN and their integers are undefined, upstream too.
pub(super) fn refuse_overflowing_reciprocals(scale: &Tensor) -> Result<(), Refusal> {
    let infinite = scale.f_reshape([-1])?.f_reciprocal()?.f_isinf()?;
    let rows: Vec<i64> = Vec::try_from(&infinite.f_nonzero()?.f_reshape([-1])?)?;
    match rows.first() {
        None => Ok(()),
        Some(row) => Err(Refusal::Unsupported(format!(
            "row {row} of the weight: its scale is {:e}, whose reciprocal overflows {:?}",
            scale.f_reshape([-1])?.f_double_value(&[*row])?,
            scale.f_kind()?,
        ))),
    }
}

#[cfg(test)]
#[path = "int8_tests.rs"]
mod tests;

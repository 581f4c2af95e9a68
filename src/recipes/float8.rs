//! The cast to float8 (`e4m3fn`), op by op as torchao 0.17's `Float8Tensor` runs it in eager mode.

use tch::{Kind, TchError, Tensor};

use super::{Quantized, ZeroPoint};
use crate::refusal::Refusal;

/// The largest `e4m3fn`. The cast does not saturate by itself: 465 and above become NaN.
const MAX: f64 = 448.0;

/// The values that share a scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Granularity {
    /// A row of the weight, a token of the activation.
    Row,
    Tensor,
}

/// `clamp(x / scale, ±448)` as float8 with `scale = amax / 448`, which is rounded to the dtype of
/// `x` and held in float32; of size `[.., 1]`, or all ones per tensor.
///
/// There is no smallest scale: where amax is 0, or so small that the scale underflows to 0, zeros
/// become NaN.
pub(super) fn quantize(x: &Tensor, granularity: Granularity) -> Result<Quantized, TchError> {
    let dimensions: Vec<i64> = match granularity {
        Granularity::Row => vec![-1],
        Granularity::Tensor => (0..x.dim() as i64).collect(),
    };
    let amax = x.f_abs()?.f_amax(dimensions, true)?;
    let scale = amax.f_div_scalar(MAX)?.f_to_kind(Kind::Float)?;
    // Named, because upstream's function holds each to its end, and peak memory is compared too.
    let wide = x.f_to_kind(Kind::Float)?;
    let scaled = wide.f_div(&scale)?;
    let clamped = scaled.f_clamp(-MAX, MAX)?;
    let values = clamped.f_to_kind(Kind::Float8e4m3fn)?;
    Ok(Quantized { values, scale, zero_point: ZeroPoint::None })
}

/// The numbers of a weight that a layer can be built of.
pub(super) fn quantize_weight(
    weight: &Tensor,
    granularity: Granularity,
) -> Result<Quantized, Refusal> {
    let numbers = quantize(weight, granularity)?;
    let zero = numbers.scale.f_reshape([-1])?.f_eq(0.0)?;
    let rows: Vec<i64> = Vec::try_from(&zero.f_nonzero()?.f_reshape([-1])?)?;
    let Some(row) = rows.first() else {
        return Ok(numbers);
    };
    let whose = match granularity {
        Granularity::Row => format!("row {row} of the weight"),
        Granularity::Tensor => "the weight".to_owned(),
    };
    Err(Refusal::Unsupported(format!(
        "{whose} is all zero or too small: its float8 scale, amax / 448, is 0, and its values NaN"
    )))
}

#[cfg(test)]
#[path = "float8_tests.rs"]
mod tests;

//! Symmetric int8 quantization per row, op by op as torchao 0.17's `choose_qparams_affine` and
//! `quantize_affine` run in eager mode. Everything is computed in the dtype of the input, so
//! bfloat16 weights get scales that are rounded to bfloat16 at each step.
//!
//! Several of these ops look idle (a zero point that is always zero, `1.0 *`). They stay: on the
//! activation path of int8dq they are part of what upstream's eager mode costs.
//! Results are reassigned rather than chained, so that an intermediate is freed when Python would
//! free it; a chained expression keeps all of them to its end and would raise the peak.

use tch::{Kind, TchError, Tensor};

/// Target range and the smallest scale of a symmetric quantization.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    pub min: i64,
    pub max: i64,
    pub eps: f64,
}

impl Range {
    /// Weights: amax is mapped to 127.5, and 127.5 is clamped to 127. (In float16 the reciprocal of
    /// this smallest scale is infinite, so an all-zero float16 row has no defined integers here, as
    /// it has none upstream.)
    pub const WEIGHT: Self = Self { min: -128, max: 127, eps: f32::EPSILON as f64 };
    /// Activations, in the reduced range: amax is mapped to 127.
    pub const ACTIVATION: Self = Self { min: -127, max: 127, eps: 1e-5 };

    /// 127.5 or 127: half the width, exact in every dtype that has 8 bits of mantissa.
    fn half_width(self) -> f64 {
        (self.max - self.min) as f64 / 2.0
    }
}

/// The scale of each row, and a zero point (0) of the same size and dtype:
/// `scale = max(amax / half_width, eps)`, of size `x.size()[..-1]`.
pub(super) fn choose_scale(x: &Tensor, range: Range) -> Result<(Tensor, Tensor), TchError> {
    let min = x.f_amin([-1], false)?;
    let max = x.f_amax([-1], false)?;
    let lowest = min.f_min_other(&min.f_zeros_like()?)?;
    let highest = max.f_max_other(&max.f_zeros_like()?)?;
    let amax = lowest.f_neg()?.f_max_other(&highest)?;
    let scale = amax.f_div_scalar(range.half_width())?;
    let zero_point = scale.f_full_like(0)?;
    Ok((scale.f_clamp_min(range.eps)?, zero_point))
}

/// `clamp(round(x · (1 / scale)) + zero_point)` as int8, of the size of `x`. A reciprocal and a
/// product rather than a division: ties come out differently, and upstream's are wanted.
pub(super) fn quantize(
    x: &Tensor,
    scale: &Tensor,
    zero_point: Option<&Tensor>,
    range: Range,
) -> Result<Tensor, TchError> {
    let inverse = scale.f_unsqueeze(-1)?.f_reciprocal()?.f_mul_scalar(1.0)?;
    let mut q = x.f_mul(&inverse)?;
    q = q.f_round()?;
    if let Some(zero_point) = zero_point {
        q = q.f_add(&zero_point.f_unsqueeze(-1)?)?;
    }
    q = q.f_clamp(range.min, range.max)?;
    q.f_to_kind(Kind::Int8)
}

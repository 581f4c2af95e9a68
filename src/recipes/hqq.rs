//! Half-quadratic quantization: the solver that `int4wo-…-hqq`, `gemlitewo-4` and `uintx-…-hqq`
//! share. It moves the zero point of each group so that ‖W − dequantize(quantize(W))‖, in the
//! lp norm with p = 0.7, gets smaller; the scale stays that of minimum and maximum.
//!
//! Source: torchao 0.17, `_choose_qparams_and_quantize_affine_hqq` with its
//! `optimize_weights_proximal_legacy`; the same in 0.14.1.

use tch::{Device, Kind, TchError, Tensor};

use super::groups::{self, Grouped};

/// The p of the norm.
const LP_NORM: f64 = 0.7;
/// Strength of the first shrinkage, and its growth per iteration.
const BETA: f64 = 10.0;
const KAPPA: f64 = 1.01;
/// Iterations, unless the error stops falling before.
const ITERATIONS: usize = 20;
/// Largest inverse scale: what float16 holds.
const MAX_INVERSE_SCALE: f64 = 2e4;

/// A weight as the solver leaves it: `(values − zero) · scale`.
#[derive(Debug)]
pub(super) struct Solved {
    /// `[n, k]`, uint8, 0 to 2^bits − 1.
    pub values: Tensor,
    /// `[n, k / group]`, in the solver's dtype.
    pub scale: Tensor,
    /// `[n, k / group]`, in the solver's dtype; not an integer.
    pub zero: Tensor,
}

impl Solved {
    /// This weight with a zero point that is added: a value stands for
    /// `(value − middle) · scale + zero_point`, `zero_point = (middle − zero) · scale`. Scale and
    /// zero point are rounded from the solver's dtype to `kind`.
    pub fn with_added_zero(self, bits: u8, kind: Kind) -> Result<Grouped, TchError> {
        let Self { values, scale, zero } = self;
        let offset = zero.f_to_kind(Kind::Float)?.f_neg()?.f_add_scalar(groups::middle(bits))?;
        let zero_point = offset.f_mul(&scale.f_to_kind(Kind::Float)?)?;
        let zero_point = zero_point.f_to_kind(zero.f_kind()?)?.f_to_kind(kind)?;
        Ok(Grouped { values, scale: scale.f_to_kind(kind)?, zero_point })
    }
}

/// The dtype that upstream's solver takes on a device.
pub(super) fn solver_kind(device: Device) -> Kind {
    if device.is_cuda() { Kind::Half } else { Kind::Float }
}

/// Quantizes `weight [n, k]`, of which `group` divides `k`, to `bits` bits. `solver` is
/// [`solver_kind`], or float16 by wish. The integers themselves come from the float32 weight.
///
/// The weights of a group of one value come out as that value, in float32. In float16 its zero
/// point overflows from 3.3 on, and scale and zero are NaN, as upstream's are.
pub(super) fn solve(
    weight: &Tensor,
    group: i64,
    bits: u8,
    solver: Kind,
) -> Result<Solved, TchError> {
    let (n, k) = weight.size2()?;
    let groups = weight.f_to_kind(Kind::Float)?.f_reshape([-1, group])?;
    let largest = groups::largest(bits);

    let (min, max) = (groups.f_amin([-1], true)?, groups.f_amax([-1], true)?);
    // A reciprocal and a product, as Python's `15 / (max − min)` is.
    let mut inverse_scale = (max.f_sub(&min)?).f_reciprocal()?.f_mul_scalar(largest)?;
    inverse_scale = inverse_scale.f_clamp_max(MAX_INVERSE_SCALE)?;
    let mut zero = min.f_neg()?.f_mul(&inverse_scale)?;
    if bits == 4 {
        zero = zero.f_round()?;
    }

    let inverse_scale = inverse_scale.f_to_kind(solver)?;
    let zero =
        improve(&groups.f_to_kind(solver)?, &inverse_scale, zero.f_to_kind(solver)?, largest)?;
    let values = quantize(&groups, &inverse_scale, &zero, largest)?.f_to_kind(Kind::Uint8)?;
    Ok(Solved {
        values: values.f_reshape([n, k])?,
        scale: inverse_scale.f_reciprocal()?.f_reshape([n, -1])?,
        zero: zero.f_reshape([n, -1])?,
    })
}

/// The zero points after as many iterations as lower the error of the whole weight, and one more.
/// In place wherever that rounds alike: a large weight has few copies at a time.
fn improve(
    weight: &Tensor,
    inverse_scale: &Tensor,
    mut zero: Tensor,
    largest: i64,
) -> Result<Tensor, TchError> {
    let (mut beta, mut best) = (BETA, 1e4);
    for _ in 0..ITERATIONS {
        let values = quantize(weight, inverse_scale, &zero, largest)?;
        let mut restored = values.f_sub(&zero)?;
        restored = restored.f_div_(inverse_scale)?;
        let error = weight.f_sub(&restored)?;
        drop(restored);
        let mean = error.f_abs()?.f_mean(None)?.f_double_value(&[])?;

        let mut target = weight.f_sub(&shrink(error, beta)?)?;
        target = target.f_mul_(inverse_scale)?;
        zero = values.f_sub(&target)?.f_mean_dim([-1].as_slice(), true, None)?;
        beta *= KAPPA;

        if mean.is_nan() || mean >= best {
            break;
        }
        best = mean;
    }
    Ok(zero)
}

/// `clamp(round(weight · inverse_scale + zero), 0, largest)`.
fn quantize(
    weight: &Tensor,
    inverse_scale: &Tensor,
    zero: &Tensor,
    largest: i64,
) -> Result<Tensor, TchError> {
    let mut values = weight.f_mul(inverse_scale)?;
    values.f_add_(zero)?.f_round_()?.f_clamp_(0, largest)
}

/// The proximal operator of the lp norm: `sign(x) · max(|x| − |x|^(p − 1) / beta, 0)`.
fn shrink(mut x: Tensor, beta: f64) -> Result<Tensor, TchError> {
    let mut magnitude = x.f_abs()?;
    let mut shrinkage = magnitude.f_pow_tensor_scalar(LP_NORM - 1.0)?;
    shrinkage = shrinkage.f_mul_scalar_(1.0 / beta)?;
    magnitude = magnitude.f_sub_(&shrinkage)?.f_relu_()?;
    drop(shrinkage);
    x.f_sign_()?.f_mul_(&magnitude)
}

#[cfg(test)]
#[path = "hqq_tests.rs"]
mod tests;

//! RMS norm, forward and backward.

use tch::{Kind, TchError, Tensor};

const EPS: f64 = 1e-5;

/// Values that the backward pass of an RMS norm reads.
#[derive(Debug)]
pub(super) struct Normed {
    /// The input in float32 (or float64, for the reference): the input itself where it is that already.
    pub wide: Tensor,
    /// 1 / √(mean(x²) + eps)
    pub inverse: Tensor,
    /// `wide · inverse`, in the dtype of the input.
    pub normed: Tensor,
    /// `normed · weight`
    pub output: Tensor,
}

/// `x / √(mean(x²) + eps) · weight`; the division in float32 (or float64, for the reference), the
/// product with the weight in the dtype of `x`.
pub(super) fn forward(x: &Tensor, weight: &Tensor) -> Result<Normed, TchError> {
    let wide = match x.f_kind()? {
        Kind::Double => x.shallow_clone(),
        _ => x.f_to_kind(Kind::Float)?,
    };
    let mut inverse = wide.f_mul(&wide)?;
    inverse = inverse.f_mean_dim(-1, true, None::<Kind>)?;
    inverse = inverse.f_add_scalar(EPS)?;
    inverse = inverse.f_rsqrt()?;
    let normed = wide.f_mul(&inverse)?.f_type_as(x)?;
    let output = normed.f_mul(weight)?;
    Ok(Normed { wide, inverse, normed, output })
}

/// The gradients of input and weight; that of the input added to the gradient that it has from elsewhere,
/// `beside`, in the order in which autograd adds them.
pub(super) fn backward(
    [wide, inverse, normed]: [&Tensor; 3],
    weight: &Tensor,
    grad_output: &Tensor,
    beside: &Tensor,
) -> Result<[Tensor; 2], TchError> {
    let kind = wide.f_kind()?;
    let leading: Vec<i64> = (0..normed.dim() as i64 - 1).collect();
    let grad_weight =
        grad_output.f_mul(normed)?.f_sum_dim_intlist(leading.as_slice(), false, None::<Kind>)?;
    let grad = grad_output.f_mul(weight)?.f_to_kind(kind)?;
    let direct = grad.f_mul(inverse)?;
    let mut through_mean = grad.f_mul(wide)?.f_sum_dim_intlist(-1, true, None::<Kind>)?;
    drop(grad);
    through_mean = through_mean.f_mul_scalar(-0.5)?.f_mul(&inverse.f_pow_tensor_scalar(3)?)?;
    let width = wide.size().last().copied().unwrap_or_default();
    through_mean = through_mean.f_expand(wide.size(), false)?.f_div_scalar(width)?;
    // Each factor of the square.
    let square = through_mean.f_mul(wide)?;
    let grad_input = if normed.f_kind()? == kind {
        beside.f_add(&direct)?.f_add(&square)?.f_add(&square)?
    } else {
        let sum = direct.f_add(&square)?.f_add(&square)?;
        beside.f_add(&sum.f_type_as(beside)?)?
    };
    Ok([grad_input, grad_weight])
}

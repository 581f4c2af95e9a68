//! `int8dq`: int8 weights per output channel, activations quantized to int8 per token at every
//! call, integer matrix product.
//!
//! Sources: torchao 0.17, `Int8DynamicActivationInt8WeightConfig` version 1 (`int8dq`) and version
//! 2 (`int8dq-v2`); torchao 0.18, `Int8DynamicActivationInt8WeightConfig` (`int8dq-v018`).

use plan::{Device, Dtype, Int8Numerics, LinearShape};
use tch::{Kind, TchError, Tensor};

use super::{LinearLayer, Quantized, Site, as_rows, int8, int8dq_sparse, output_size, saturation};
use crate::refusal::Refusal;

/// The recipe.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scheme {
    /// The torchao version whose roundings are followed.
    pub numerics: Int8Numerics,
}

impl super::Scheme for Scheme {
    fn check(&self, site: &Site) -> Result<(), String> {
        if site.variant.sparsity.is_some() {
            return int8dq_sparse::check(site, self.numerics);
        }
        check_width(self.numerics, site.linear)?;
        check_product(site.device, site.linear)
    }

    fn quantize(&self, weight: &Tensor) -> Result<Option<Quantized>, TchError> {
        quantize_weight(weight, self.numerics).map(Some)
    }

    fn quantize_activation(&self, x: &Tensor) -> Result<Option<Quantized>, TchError> {
        int8::activation(x, self.numerics).map(Some)
    }

    fn eager(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        let weight = quantize_weight(&weight, self.numerics)?;
        int8::refuse_overflowing_reciprocals(&weight.scale)?;
        Ok(Box::new(Int8dq { weight, numerics: self.numerics }))
    }

    fn semi_sparse(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        int8dq_sparse::layer(&weight, self.numerics, false)
    }

    fn writes_out(&self) -> bool {
        true
    }

    fn min_sqnr_db(&self, _dtype: Dtype) -> f64 {
        35.0
    }
}

/// The numbers of a `weight [n, k]`: those of int8wo, but version 1 stores no zero points.
pub(super) fn quantize_weight(
    weight: &Tensor,
    numerics: Int8Numerics,
) -> Result<Quantized, TchError> {
    let zero_point = match numerics {
        Int8Numerics::V1 => None,
        Int8Numerics::V2 | Int8Numerics::V018 => Some(int8::zero_point_kind(numerics)),
    };
    int8::weight(weight, numerics, zero_point)
}

/// `y = ((q_x · qᵀ) · s_x) · scale` in the dtype of `x [.., k]`, for a `weight q [n, k]` and its
/// `scale [n, 1]`, the numbers of [`quantize_weight`]. The integer sums are exact.
pub(super) fn product(
    x: &Tensor,
    weight: &Tensor,
    scale: &Tensor,
    numerics: Int8Numerics,
) -> Result<Tensor, TchError> {
    let (n, _) = weight.size2()?;
    rescaled(x, weight, numerics, |sums| {
        let y = sums.f_mul(&scale.f_reshape([-1])?)?;
        y.f_reshape(output_size(x, n))?.f_to_kind(x.f_kind()?)
    })
}

/// [`product`], written into `out [.., n]`.
pub(super) fn product_out(
    x: &Tensor,
    weight: &Tensor,
    scale: &Tensor,
    numerics: Int8Numerics,
    out: &Tensor,
) -> Result<(), TchError> {
    let (n, _) = weight.size2()?;
    let mut rows = as_rows(out, n)?;
    rescaled(x, weight, numerics, |sums| {
        let scale = scale.f_reshape([-1])?;
        let kind = rows.f_kind()?;
        if sums.f_kind()? == kind && scale.f_kind()? == kind {
            return sums.f_mul_out(&rows, &scale).map(drop);
        }
        // The last product is in float32: the conversion is the last operation.
        let y = sums.f_mul(&scale)?;
        rows.f_copy_(&y)
    })
}

/// Passes `(q_x · qᵀ) · s_x`, `[rows, n]`, to `finish`, while everything is alive that upstream's
/// function holds to its end: peak memory is compared too.
fn rescaled<T>(
    x: &Tensor,
    weight: &Tensor,
    numerics: Int8Numerics,
    finish: impl FnOnce(&Tensor) -> Result<T, TchError>,
) -> Result<T, TchError> {
    let (_, k) = weight.size2()?;
    let activation = int8::activation(x, numerics)?;
    let rows = activation.values.f_reshape([-1, k])?;
    let kind = match activation.scale.f_kind()? {
        // The sums would leave its range.
        Kind::Half => Kind::Float,
        kind => kind,
    };
    let row_scale = activation.scale.f_reshape([-1, 1])?.f_to_kind(kind)?;
    let mut y = scaled_sums(&rows, weight, &row_scale)?;
    if numerics != Int8Numerics::V1 {
        y = y.f_to_kind(x.f_kind()?)?;
    }
    let correction = match (numerics, activation.zero_point.tensor()) {
        (Int8Numerics::V2, Some(zero_point)) => {
            Some(zero_point_correction(zero_point, &row_scale, weight)?)
        }
        _ => None,
    };
    if let Some(correction) = &correction {
        y = y.f_sub(&correction.f_to_kind(x.f_kind()?)?)?;
    }
    finish(&y)
}

/// `(q_x · qᵀ) · s_x` in the dtype of `row_scale [rows, 1]`.
fn scaled_sums(rows: &Tensor, weight: &Tensor, row_scale: &Tensor) -> Result<Tensor, TchError> {
    let (n, _) = weight.size2()?;
    let row_scale = row_scale.f_expand([rows.size2()?.0, n], false)?;
    let weight = weight.f_tr()?;
    if rows.device().is_cuda() {
        // Upstream copies the transposed weight on every call, because its integer product once
        // gave wrong results without.
        let weight = weight.f_contiguous()?;
        let sums = rows.f_internal_int_mm(&weight)?;
        sums.f_mul(&row_scale)
    } else {
        let sums = rows.f_internal_int_mm(&weight)?;
        sums.f_to_kind(row_scale.f_kind()?)?.f_mul(&row_scale)
    }
}

/// `(zero_point · s_x) · rowsum(q)ᵀ`, `[rows, n]`: version 2 of torchao 0.17 subtracts it on every
/// call, and sums the weight's rows for it, though symmetric zero points are 0.
fn zero_point_correction(
    zero_point: &Tensor,
    row_scale: &Tensor,
    weight: &Tensor,
) -> Result<Tensor, TchError> {
    let kind = row_scale.f_kind()?;
    let row_sums = weight.f_sum_dim_intlist([-1].as_slice(), false, None::<Kind>)?;
    let zero_point = zero_point.f_reshape([-1, 1])?.f_to_kind(kind)?;
    zero_point.f_mul(row_scale)?.f_mul(&row_sums.f_to_kind(kind)?)
}

/// A layer whose weight is stored as int8.
#[derive(Debug)]
pub(super) struct Int8dq {
    /// `[n, k]`, with one scale per output channel.
    pub weight: Quantized,
    /// The torchao version whose roundings are followed.
    pub numerics: Int8Numerics,
}

impl LinearLayer for Int8dq {
    fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        product(x, &self.weight.values, &self.weight.scale, self.numerics)
    }

    fn forward_out(&self, x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        product_out(x, &self.weight.values, &self.weight.scale, self.numerics, out)
    }

    fn tensors(&self) -> Vec<&Tensor> {
        self.weight.tensors()
    }

    fn kernels(&self) -> &'static [&'static str] {
        kernels(self.weight.values.device().is_cuda(), self.numerics)
    }
}

/// The ops that work on the weight.
pub(super) fn kernels(cuda: bool, numerics: Int8Numerics) -> &'static [&'static str] {
    match (cuda, numerics) {
        (false, Int8Numerics::V1 | Int8Numerics::V018) => &["aten::_int_mm"],
        (false, Int8Numerics::V2) => &["aten::_int_mm", "aten::sum"],
        (true, Int8Numerics::V1 | Int8Numerics::V018) => &["aten::clone", "aten::_int_mm"],
        (true, Int8Numerics::V2) => &["aten::clone", "aten::_int_mm", "aten::sum"],
    }
}

/// Version 1 leaves narrow weights unquantized, which would not be int8dq.
pub(super) fn check_width(numerics: Int8Numerics, linear: LinearShape) -> Result<(), String> {
    match (numerics, linear.k) {
        (Int8Numerics::V1, k @ ..=16) => {
            Err(format!("k = {k}, but int8dq quantizes only weights with k > 16"))
        }
        _ => Ok(()),
    }
}

/// Whether `_int_mm` computes this product. On CUDA, upstream falls back to an integer product on
/// the host or to a float one where cuBLAS has none; neither would be int8dq.
pub(super) fn check_product(device: Device, linear: LinearShape) -> Result<(), String> {
    match device {
        Device::Cpu => return saturation::check(),
        Device::Cuda => {}
        // Such a device is absent, which is said elsewhere.
        Device::Xpu | Device::Mps => return Ok(()),
    }
    let LinearShape { rows, k, n, .. } = linear;
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
    Ok(())
}

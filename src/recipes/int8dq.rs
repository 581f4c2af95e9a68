//! `int8dq`: int8 weights per output channel, activations quantized to int8 per token at every
//! call, integer matrix product.
//!
//! Sources: torchao 0.17, `Int8DynamicActivationInt8WeightConfig` version 1 (`int8dq`) and version
//! 2 (`int8dq-v2`); torchao 0.18, `Int8DynamicActivationInt8WeightConfig` (`int8dq-v018`).
//!
//! `int8dq_prefill_wo_decode` is version 1 with `weight_only_decode`: a single token is multiplied
//! unquantized. Upstream takes that path where `x.shape[1] == 1`, and so does this. That is the
//! number of tokens of an input `[batch, tokens, k]`, but of an input `[rows, k]` the number of
//! features: a plain linear layer never takes it, not for one row either, and the transformer block's
//! inputs have 16 tokens. On the models of this version the recipe is int8dq with a question before
//! it. The path is not that of int8wo: upstream finds no kernel for a float activation and a weight
//! without zero points, and so dequantizes the whole weight on every call.
//!
//! With 2:4 sparse weights the weight is quantized once it is pruned; zero stays zero. On a CPU it is
//! expanded at each call and multiplied as in the dense recipe. On CUDA, as in torchao 0.14.1's
//! `SemiSparseLayout`, the product by cuSPARSELt includes the weight's scales, and is rounded to
//! bfloat16.

use std::cell::Cell;

use plan::{Device, Dtype, Int8Numerics, LinearShape};
use tch::{Kind, TchError, Tensor};

use super::semi_sparse::{self, Cslt, Stored};
use super::{
    LayerContext, LinearLayer, Quantized, int8, linear, output_size, refuse_out, saturation,
};
use crate::refusal::Refusal;

#[derive(Debug, Clone, Copy)]
pub(super) struct Scheme {
    pub numerics: Int8Numerics,
    /// Whether a single token is multiplied unquantized.
    pub decodes: bool,
}

impl Scheme {
    fn quantize_or_refuse(self, weight: &Tensor) -> Result<Quantized, Refusal> {
        let quantized = quantize_weight(weight, self.numerics)?;
        int8::refuse_overflowing_reciprocals(&quantized.scale)?;
        Ok(quantized)
    }

    fn layer(self, weight: Stored, scale: Tensor, zero_point: Option<&Tensor>) -> Int8dq {
        let zero_point = zero_point.map(Tensor::shallow_clone);
        let decoded = self.decodes.then(Cell::default);
        Int8dq { weight, scale, zero_point, numerics: self.numerics, decoded }
    }

    /// Whether 2:4 sparse weights can be stored and multiplied like this.
    fn check_sparse(self, context: &LayerContext) -> Result<(), String> {
        check_width(self.numerics, context.linear)?;
        semi_sparse::check(context, 32)?;
        match context.device {
            Device::Cuda if self.decodes => {
                Err("device cuda, but its 2:4 sparse layout is for the cpu".to_owned())
            }
            Device::Cuda if self.numerics == Int8Numerics::V1 => Ok(()),
            Device::Cuda => Err(format!(
                "numerics {:?} on cuda, but torchao has 2:4 sparse int8 weights in version 1 alone",
                self.numerics
            )),
            Device::Cpu | Device::Rocm | Device::Xpu | Device::Mps => {
                check_product(context.device, context.linear)
            }
        }
    }
}

impl super::Scheme for Scheme {
    fn check(&self, context: &LayerContext) -> Result<(), String> {
        if context.variant.sparsity.is_some() {
            return self.check_sparse(context);
        }
        check_width(self.numerics, context.linear)?;
        check_product(context.device, context.linear)
    }

    fn quantize(&self, weight: &Tensor) -> Result<Option<Quantized>, TchError> {
        quantize_weight(weight, self.numerics).map(Some)
    }

    fn quantize_activation(&self, x: &Tensor) -> Result<Option<Quantized>, TchError> {
        if self.decodes && is_decode(x) {
            return Ok(None);
        }
        int8::activation(x, self.numerics).map(Some)
    }

    fn eager(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        let Quantized { values, scale, zero_point } = self.quantize_or_refuse(&weight)?;
        Ok(Box::new(self.layer(Stored::Dense(values), scale, zero_point.tensor())))
    }

    fn semi_sparse(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        let Quantized { values, scale, zero_point } = self.quantize_or_refuse(&weight)?;
        if values.device().is_cuda() {
            return Ok(Box::new(OnCuda { weight: Cslt::new(&values)?, scale }));
        }
        Ok(Box::new(self.layer(Stored::compress(&values)?, scale, zero_point.tensor())))
    }

    fn min_sqnr_db(&self, _dtype: Dtype) -> f64 {
        35.0
    }
}

/// Upstream's question: whether `x` holds a single token of each sequence.
fn is_decode(x: &Tensor) -> bool {
    x.size().get(1) == Some(&1)
}

/// The numbers of a `weight [n, k]`: those of int8wo, but version 1 stores no zero points.
fn quantize_weight(weight: &Tensor, numerics: Int8Numerics) -> Result<Quantized, TchError> {
    let zero_point = match numerics {
        Int8Numerics::V1 => None,
        Int8Numerics::V2 | Int8Numerics::V018 => Some(int8::zero_point_kind(numerics)),
    };
    int8::weight(weight, numerics, zero_point)
}

/// `y = ((q_x · qᵀ) · s_x) · scale` in the dtype of `x [.., k]`, for a `weight q [n, k]` and its
/// `scale [n, 1]`, the numbers of [`quantize_weight`]. The integer sums are exact. Everything is alive
/// that upstream's function holds to its end: peak memory is compared too.
fn product(
    x: &Tensor,
    weight: &Tensor,
    scale: &Tensor,
    numerics: Int8Numerics,
    out: Option<&Tensor>,
) -> Result<Tensor, TchError> {
    let (n, k) = weight.size2()?;
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
    let (scale, kind) = (scale.f_reshape([-1])?, x.f_kind()?);
    let Some(out) = out else {
        let y = y.f_mul(&scale)?;
        return y.f_reshape(output_size(x, n))?.f_to_kind(kind);
    };
    let mut rows = out.f_view([-1, n])?;
    if y.f_kind()? == kind && scale.f_kind()? == kind {
        drop(y.f_mul_out(&rows, &scale)?);
    } else {
        // The last product is in float32: the conversion is the last operation.
        rows.f_copy_(&y.f_mul(&scale)?)?;
    }
    Ok(out.shallow_clone())
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
struct Int8dq {
    /// `[n, k]`.
    weight: Stored,
    /// `[n, 1]`.
    scale: Tensor,
    /// `[n, 1]`, all zero, where the numerics have them stored.
    zero_point: Option<Tensor>,
    numerics: Int8Numerics,
    /// Whether the last call was a single token, multiplied unquantized, and none before the first; absent
    /// where no token is.
    decoded: Option<Cell<Option<bool>>>,
}

impl Int8dq {
    /// `q · scale` in the dtype of the weight it came from.
    fn dequantized(&self) -> Result<Tensor, TchError> {
        let mut dense = self.weight.dense()?;
        dense = dense.f_to_kind(self.scale.f_kind()?)?;
        dense.f_mul(&self.scale)
    }
}

impl LinearLayer for Int8dq {
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        if let Some(decoded) = &self.decoded {
            decoded.set(Some(is_decode(x)));
            if is_decode(x) {
                return linear(x, &self.dequantized()?, out);
            }
        }
        product(x, &self.weight.dense()?, &self.scale, self.numerics, out)
    }

    fn tensors(&self) -> Vec<&Tensor> {
        let mut tensors = self.weight.tensors();
        tensors.push(&self.scale);
        tensors.extend(&self.zero_point);
        tensors
    }

    /// With a path for single tokens, those of the last call; none before the first.
    fn kernels(&self) -> Vec<&'static str> {
        match self.decoded.as_ref().map(Cell::get) {
            Some(None) => return vec![],
            Some(Some(true)) => {
                return self.weight.kernels(&["aten::_to_copy", "aten::mul", "aten::mm"]);
            }
            Some(Some(false)) | None => {}
        }
        let copy = self.scale.device().is_cuda().then_some("aten::clone");
        let sum = (self.numerics == Int8Numerics::V2).then_some("aten::sum");
        let product = copy.into_iter().chain(["aten::_int_mm"]).chain(sum);
        self.weight.kernels(&product.collect::<Vec<_>>())
    }

    fn density(&self) -> Option<f64> {
        self.weight.density()
    }
}

/// `y = bf16(q_x · qᵀ · scale) · s_x`, of a 2:4 sparse weight.
#[derive(Debug)]
struct OnCuda {
    weight: Cslt,
    /// `[n, 1]`.
    scale: Tensor,
}

impl LinearLayer for OnCuda {
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        refuse_out(out)?;
        let (n, k) = (self.scale.size2()?.0, x.size().last().copied().unwrap_or_default());
        let activation = int8::activation(x, Int8Numerics::V1)?;
        let rows = activation.values.f_reshape([-1, k])?;
        let alpha = self.scale.f_reshape([-1])?.f_to_kind(Kind::Float)?;
        let mut y = self.weight.product(&rows, 16, Some(&alpha))?;
        y = y.f_mul(&activation.scale.f_reshape([-1, 1])?)?;
        y.f_reshape(output_size(x, n))?.f_to_kind(x.f_kind()?)?.f_contiguous()
    }

    fn tensors(&self) -> Vec<&Tensor> {
        vec![self.weight.tensor(), &self.scale]
    }

    fn kernels(&self) -> Vec<&'static str> {
        vec!["aten::_cslt_sparse_mm"]
    }

    fn density(&self) -> Option<f64> {
        Some(semi_sparse::DENSITY)
    }
}

/// Version 1 leaves narrow weights unquantized, which would not be int8dq.
fn check_width(numerics: Int8Numerics, linear: LinearShape) -> Result<(), String> {
    match (numerics, linear.k) {
        (Int8Numerics::V1, k @ ..=16) => {
            Err(format!("k = {k}, but int8dq quantizes only weights with k > 16"))
        }
        _ => Ok(()),
    }
}

/// Whether `_int_mm` computes this product. On CUDA, upstream falls back to an integer product on
/// the host or to a float one where cuBLAS has none; neither would be int8dq.
fn check_product(device: Device, linear: LinearShape) -> Result<(), String> {
    match device {
        Device::Cpu => return saturation::check(),
        Device::Cuda => {}
        // Such a device is absent, which is said elsewhere.
        Device::Rocm | Device::Xpu | Device::Mps => return Ok(()),
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

//! `float8dq-tensor`, `float8dq-row`: float8 weights and activations, the activations quantized at
//! every call.
//!
//! Source: torchao 0.17, `Float8DynamicActivationFloat8WeightConfig` (version 2, its default) with
//! `PerTensor` and `PerRow` granularity and its own `torch` kernels. Upstream demands a CUDA device;
//! the CPU computes the same with what it has.
//!
//! With 2:4 sparse weights, on a CPU, the weight is expanded at each call, and multiplied as in the dense
//! recipe. torchao's product on CUDA, `rowwise_scaled_linear_sparse_cutlass`, is a kernel of torchao's
//! own; libtorch's `_cslt_sparse_mm` may take float8 too, which is not built here.

use plan::{Device, Dtype};
use tch::{Kind, TchError, Tensor};

use super::float8::{self, Granularity};
use super::float8_speed;

use super::semi_sparse::{self, Stored};
use super::{LayerContext, LinearLayer, Quantized, output_size};
use crate::native::cuda;
use crate::refusal::Refusal;

#[derive(Debug, Clone, Copy)]
pub(super) struct Scheme {
    /// One scale per row, of weight and activation; else one each.
    pub per_row: bool,
}

impl Scheme {
    fn granularity(self) -> Granularity {
        if self.per_row { Granularity::Row } else { Granularity::Tensor }
    }
}

impl super::Scheme for Scheme {
    fn check(&self, context: &LayerContext) -> Result<(), String> {
        if context.variant.sparsity.is_some() {
            if context.device == Device::Cuda {
                return Err("device cuda, but its 2:4 sparse layout is for the cpu (torchao's \
                            kernel is not libtorch's)"
                    .to_owned());
            }
            semi_sparse::check(context, 32)?;
        }
        check(self.granularity(), context)
    }

    fn quantize(&self, weight: &Tensor) -> Result<Option<Quantized>, TchError> {
        float8::quantize(weight, self.granularity()).map(Some)
    }

    fn quantize_activation(&self, x: &Tensor) -> Result<Option<Quantized>, TchError> {
        float8::quantize(x, self.granularity()).map(Some)
    }

    fn eager(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        let granularity = self.granularity();
        let Quantized { values, scale, .. } = float8::quantize_weight(&weight, granularity)?;
        Ok(Box::new(Float8dq { weight: Stored::Dense(values), scale, granularity }))
    }

    fn semi_sparse(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        let granularity = self.granularity();
        let Quantized { values, scale, .. } = float8::quantize_weight(&weight, granularity)?;
        Ok(Box::new(Float8dq { weight: Stored::compress(&values)?, scale, granularity }))
    }

    fn min_sqnr_db(&self, _dtype: Dtype) -> f64 {
        26.0
    }
}

/// `y = (q_x · qᵀ) · s_x · scale` in the dtype of `x [.., k]`, for a `weight q [n, k]` and its
/// `scale [n, 1]` (per tensor `[1, 1]`), the numbers of [`float8::quantize`].
fn product(
    x: &Tensor,
    weight: &Tensor,
    scale: &Tensor,
    granularity: Granularity,
    out: Option<&Tensor>,
) -> Result<Tensor, TchError> {
    let ((n, k), kind) = (weight.size2()?, x.f_kind()?);
    let activation = float8::quantize(x, granularity)?;
    let rows = activation.values.f_reshape([-1, k])?;
    let row_scale = activation.scale.f_reshape([-1, 1])?;
    let after = scales_after(granularity, x);
    let Some(out) = out else {
        let y = match after {
            true => scaled_after(&rows, weight, &row_scale, scale)?.f_to_kind(kind)?,
            false => scaled_mm(&rows, weight, &row_scale, scale, kind)?,
        };
        return y.f_reshape(output_size(x, n));
    };
    let mut written = out.f_view([-1, n])?;
    if after {
        written.f_copy_(&scaled_after(&rows, weight, &row_scale, scale)?)?;
    } else {
        let (weight, scale, none) = (weight.f_tr()?, scale.f_tr()?, None::<&Tensor>);
        drop(rows.f_internal_scaled_mm_out(
            &written, &weight, &row_scale, &scale, none, none, kind, true,
        )?);
    }
    Ok(out.shallow_clone())
}

fn scaled_mm(
    rows: &Tensor,
    weight: &Tensor,
    row_scale: &Tensor,
    scale: &Tensor,
    kind: Kind,
) -> Result<Tensor, TchError> {
    let (weight, scale) = (weight.f_tr()?, scale.f_tr()?);
    let none = None::<&Tensor>;
    rows.f_internal_scaled_mm(&weight, row_scale, &scale, none, none, kind, true)
}

/// Whether `_scaled_mm` takes no scales per row here.
fn scales_after(granularity: Granularity, x: &Tensor) -> bool {
    granularity == Granularity::Row && !x.device().is_cuda()
}

/// Unit scales, and the products with the rows' and the columns' scales afterwards, all in float32,
/// so that one rounding is left to be done.
fn scaled_after(
    rows: &Tensor,
    weight: &Tensor,
    row_scale: &Tensor,
    scale: &Tensor,
) -> Result<Tensor, TchError> {
    let one = row_scale.f_new_ones([1, 1], (Kind::Float, row_scale.device()))?;
    let mut sums = scaled_mm(rows, weight, &one, &one, Kind::Float)?;
    sums.f_mul_(row_scale)?.f_mul_(&scale.f_tr()?)
}

/// A layer whose weight is stored as float8.
#[derive(Debug)]
struct Float8dq {
    /// `[n, k]`.
    weight: Stored,
    /// `[n, 1]`, per tensor `[1, 1]`.
    scale: Tensor,
    granularity: Granularity,
}

impl LinearLayer for Float8dq {
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        product(x, &self.weight.dense()?, &self.scale, self.granularity, out)
    }

    fn tensors(&self) -> Vec<&Tensor> {
        let mut tensors = self.weight.tensors();
        tensors.push(&self.scale);
        tensors
    }

    /// The ops that work on the weight, and where its scales are applied by an op of their own, that.
    fn kernels(&self) -> Vec<&'static str> {
        let after = scales_after(self.granularity, &self.scale);
        self.weight.kernels(match after {
            true => &["aten::_scaled_mm", "aten::mul_"],
            false => &["aten::_scaled_mm"],
        })
    }

    fn density(&self) -> Option<f64> {
        self.weight.density()
    }
}

/// Upstream leaves other weights unquantized, which would not be float8dq, and refuses other dtypes
/// and devices. On the CPU any shape would do, but a recipe is the same wherever it runs.
fn check(granularity: Granularity, context: &LayerContext) -> Result<(), String> {
    for (dimension, size) in [("k", context.linear.k), ("n", context.linear.n)] {
        if size % 16 != 0 {
            return Err(format!(
                "{dimension} = {size}, but float8dq quantizes only weights whose sizes are \
                 multiples of 16"
            ));
        }
    }
    if granularity == Granularity::Row && context.dtype != Dtype::BFloat16 {
        return Err(format!("dtype {}, but scales per row need bfloat16", context.dtype));
    }
    if context.device == Device::Cuda {
        // An absent device is not this recipe's to report.
        if let Ok(device) = cuda::device(0) {
            device.require((8, 9), "float8 products")?;
        }
    }
    float8_speed::check(context)
}

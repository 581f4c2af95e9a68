//! `float8dq-tensor`, `float8dq-row`: float8 weights and activations, the activations quantized at
//! every call.
//!
//! Source: torchao 0.17, `Float8DynamicActivationFloat8WeightConfig` (version 2, its default) with
//! `PerTensor` and `PerRow` granularity and its own `torch` kernels. Upstream demands a CUDA device;
//! the CPU computes the same with what it has.

use plan::{Device, Dtype};
use tch::{Kind, TchError, Tensor};

use super::float8::{self, Granularity};
use super::{LinearLayer, Quantized, Site, as_rows, float8dq_sparse, output_size};
use crate::native::cuda;
use crate::refusal::Refusal;

/// The recipe.
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
    fn check(&self, site: &Site) -> Result<(), String> {
        if site.variant.sparsity.is_some() {
            return float8dq_sparse::check(self.granularity(), site);
        }
        check(self.granularity(), site)
    }

    fn quantize(&self, weight: &Tensor) -> Result<Option<Quantized>, TchError> {
        float8::quantize(weight, self.granularity()).map(Some)
    }

    fn quantize_activation(&self, x: &Tensor) -> Result<Option<Quantized>, TchError> {
        float8::quantize(x, self.granularity()).map(Some)
    }

    fn eager(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        let granularity = self.granularity();
        let weight = float8::quantize_weight(&weight, granularity)?;
        Ok(Box::new(Float8dq { weight, granularity }))
    }

    fn semi_sparse(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        float8dq_sparse::layer(&weight, self.granularity())
    }

    fn writes_out(&self) -> bool {
        true
    }

    fn min_sqnr_db(&self, _dtype: Dtype) -> f64 {
        26.0
    }
}

/// `y = (q_x · qᵀ) · s_x · scale` in the dtype of `x [.., k]`, for a `weight q [n, k]` and its
/// `scale [n, 1]` (per tensor `[1, 1]`), the numbers of [`float8::quantize`].
pub(super) fn product(
    x: &Tensor,
    weight: &Tensor,
    scale: &Tensor,
    granularity: Granularity,
) -> Result<Tensor, TchError> {
    let (n, _) = weight.size2()?;
    let kind = x.f_kind()?;
    let y = with_activation(x, weight, granularity, |rows, row_scale| {
        if scales_after(granularity, x) {
            return scaled_after(rows, weight, row_scale, scale)?.f_to_kind(kind);
        }
        scaled_mm(rows, weight, row_scale, scale, kind)
    })?;
    y.f_reshape(output_size(x, n))
}

/// [`product`], written into `out [.., n]`.
pub(super) fn product_out(
    x: &Tensor,
    weight: &Tensor,
    scale: &Tensor,
    granularity: Granularity,
    out: &Tensor,
) -> Result<(), TchError> {
    let mut out = as_rows(out, weight.size2()?.0)?;
    with_activation(x, weight, granularity, |rows, row_scale| {
        if scales_after(granularity, x) {
            let y = scaled_after(rows, weight, row_scale, scale)?;
            return out.f_copy_(&y);
        }
        let (weight, scale, kind) = (weight.f_tr()?, scale.f_tr()?, out.f_kind()?);
        let none = None::<&Tensor>;
        rows.f_internal_scaled_mm_out(&out, &weight, row_scale, &scale, none, none, kind, true)
            .map(drop)
    })
}

/// Passes the quantized `x` as `[rows, k]` and its scale, `[rows, 1]` or `[1, 1]`, to `multiply`.
fn with_activation<T>(
    x: &Tensor,
    weight: &Tensor,
    granularity: Granularity,
    multiply: impl FnOnce(&Tensor, &Tensor) -> Result<T, TchError>,
) -> Result<T, TchError> {
    let (_, k) = weight.size2()?;
    let activation = float8::quantize(x, granularity)?;
    let rows = activation.values.f_reshape([-1, k])?;
    multiply(&rows, &activation.scale.f_reshape([-1, 1])?)
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
    weight: Quantized,
    granularity: Granularity,
}

impl LinearLayer for Float8dq {
    fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        product(x, &self.weight.values, &self.weight.scale, self.granularity)
    }

    fn forward_out(&self, x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        product_out(x, &self.weight.values, &self.weight.scale, self.granularity, out)
    }

    fn tensors(&self) -> Vec<&Tensor> {
        self.weight.tensors()
    }

    fn kernels(&self) -> &'static [&'static str] {
        kernels(self.granularity, &self.weight.values)
    }
}

/// The ops that work on the weight, and where its scales are applied by an op of their own, that.
pub(super) fn kernels(granularity: Granularity, weight: &Tensor) -> &'static [&'static str] {
    if scales_after(granularity, weight) {
        &["aten::_scaled_mm", "aten::mul_"]
    } else {
        &["aten::_scaled_mm"]
    }
}

/// Upstream leaves other weights unquantized, which would not be float8dq, and refuses other dtypes
/// and devices. On the CPU any shape would do, but a recipe is the same wherever it runs.
pub(super) fn check(granularity: Granularity, site: &Site) -> Result<(), String> {
    for (dimension, size) in [("k", site.linear.k), ("n", site.linear.n)] {
        if size % 16 != 0 {
            return Err(format!(
                "{dimension} = {size}, but float8dq quantizes only weights whose sizes are \
                 multiples of 16"
            ));
        }
    }
    if granularity == Granularity::Row && site.dtype != Dtype::BFloat16 {
        return Err(format!("dtype {}, but scales per row need bfloat16", site.dtype));
    }
    if site.device == Device::Cuda {
        // An absent device is not this recipe's to report.
        if let Ok(device) = cuda::device(0) {
            device.require((8, 9), "float8 products")?;
        }
    }
    Ok(())
}

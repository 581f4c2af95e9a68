//! float8dq with 2:4 sparse weights, on a CPU: expanded at each call, and multiplied as in the dense
//! recipe. torchao's product on CUDA, `rowwise_scaled_linear_sparse_cutlass`, is a kernel of torchao's
//! own; libtorch's `_cslt_sparse_mm` may take float8 too, which is not built here.

use plan::Device;
use tch::{TchError, Tensor};

use super::float8::{self, Granularity};
use super::semi_sparse::{self, Compressed};
use super::{LinearLayer, Quantized, Site, float8dq};
use crate::refusal::Refusal;
use kernels::cpu::expand_2_4_and;

/// Whether the site's weight can be stored and multiplied like this.
pub(super) fn check(granularity: Granularity, site: &Site) -> Result<(), String> {
    if site.device == Device::Cuda {
        return Err(
            "device cuda, but its 2:4 sparse layout is for the cpu (torchao's kernel is not \
                    libtorch's)"
                .to_owned(),
        );
    }
    semi_sparse::check(site, 32)?;
    float8dq::check(granularity, site)
}

/// The layer of a pruned weight.
pub(super) fn layer(
    weight: &Tensor,
    granularity: Granularity,
) -> Result<Box<dyn LinearLayer>, Refusal> {
    let Quantized { values, scale, .. } = float8::quantize_weight(weight, granularity)?;
    Ok(Box::new(Expanded { weight: Compressed::new(&values)?, scale, granularity }))
}

#[derive(Debug)]
struct Expanded {
    weight: Compressed,
    /// `[n, 1]`, per tensor `[1, 1]`.
    scale: Tensor,
    granularity: Granularity,
}

impl LinearLayer for Expanded {
    fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        float8dq::product(x, &self.weight.expand()?, &self.scale, self.granularity)
    }

    fn forward_out(&self, x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        float8dq::product_out(x, &self.weight.expand()?, &self.scale, self.granularity, out)
    }

    fn tensors(&self) -> Vec<&Tensor> {
        let [values, mask] = self.weight.tensors();
        vec![values, mask, &self.scale]
    }

    fn kernels(&self) -> &'static [&'static str] {
        match self.granularity {
            Granularity::Row => expand_2_4_and!["aten::_scaled_mm", "aten::mul_"],
            Granularity::Tensor => expand_2_4_and!["aten::_scaled_mm"],
        }
    }

    fn density(&self) -> Option<f64> {
        Some(semi_sparse::DENSITY)
    }
}

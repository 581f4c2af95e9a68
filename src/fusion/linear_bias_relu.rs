//! `linear_bias_relu`: max(x·Wᵀ + b, 0).

use plan::{Device, Dtype, FusionVariant};
use tch::{TchError, Tensor};

use super::linear::{self, Operands};
use super::{Fusible, Inputs, Site, Step, mkldnn, torchscript};
use crate::native::addmm::Activation;
use crate::native::onednn::PostOp;
use crate::refusal::Refusal;

const UNFUSED: [&str; 3] = ["aten::mm", "aten::add", "aten::relu"];

/// Upstream's function.
const SCRIPT: &str = "
def pattern(x, weight_t, bias):
    return torch.relu(torch.addmm(bias, x, weight_t))";

pub(super) struct LinearBiasRelu;

impl Fusible for LinearBiasRelu {
    fn draw(&self, site: &Site) -> Result<Inputs, TchError> {
        linear::draw(site)
    }

    fn check(&self, site: &Site) -> Result<(), String> {
        match (site.work.variant, site.device) {
            (
                FusionVariant::Mkldnn | FusionVariant::MkldnnUnfused | FusionVariant::OnednnGraph,
                _,
            ) => mkldnn::check(site),
            (FusionVariant::Fused, Device::Cuda) => linear::check_epilogue(site),
            _ => Ok(()),
        }
    }

    fn build(&self, site: &Site, inputs: Inputs) -> Result<Step, Refusal> {
        let operands = linear::operands(inputs)?;
        let reads = operands.unfused();
        let Operands { x, weight, weight_t, bias } = operands;
        Ok(match site.work.variant {
            FusionVariant::Unfused => Step::new(&UNFUSED, move || {
                let mut y = x.f_mm(&weight_t)?;
                // Frees the product before the activation, as a variable of Python's would.
                y = y.f_add(&bias)?;
                y.f_relu()
            })
            .reading(reads),
            FusionVariant::Fused => {
                linear::addmm_activation(site, [x, weight_t, bias], Activation::Relu, "aten::relu_")
            }
            FusionVariant::Addmm => Step::new(&["aten::addmm", "aten::relu"], move || {
                bias.f_addmm(&x, &weight_t)?.f_relu()
            }),
            FusionVariant::Inplace => {
                Step::new(&["aten::mm", "aten::add_", "aten::relu_"], move || {
                    x.f_mm(&weight_t)?.f_add_(&bias)?.f_relu_()
                })
            }
            FusionVariant::Mkldnn => linear::pointwise(site, x, &weight, bias, PostOp::Relu)?,
            FusionVariant::MkldnnUnfused => linear::pointwise_unfused(
                site,
                x,
                &weight,
                bias,
                Some(("aten::relu", Tensor::f_relu)),
            )?,
            FusionVariant::OnednnGraph => {
                linear::onednn_graph(site, x, weight, bias, "torch.relu(y)")?
            }
            FusionVariant::TorchScript => {
                torchscript::build(site, SCRIPT, [x, weight_t, bias], &UNFUSED)?
            }
            _ => return Err(site.no_such_variant()),
        })
    }

    /// Lowest values measured on a CPU, in dB, over the seeds and sizes of `linear_bias`:
    ///
    /// | dtype    | unfused, inplace | fused, addmm | mkldnn | gate |
    /// |----------|------------------|--------------|--------|------|
    /// | float32  | 110.5            | 110.5        | 112.5  | 100  |
    /// | bfloat16 | 46.9             | 51.4         | 51.4   | 40   |
    /// | float16  | 65.8             | 70.2         |        | 58   |
    fn min_sqnr_db(&self, dtype: Dtype) -> f64 {
        match dtype {
            Dtype::Float64 | Dtype::Float32 => 100.0,
            Dtype::BFloat16 | Dtype::Float8E4M3Fn => 40.0,
            Dtype::Float16 => 58.0,
        }
    }
}

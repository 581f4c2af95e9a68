//! `linear_bias_gelu`: GELU(x·Wᵀ + b), the exact x·Φ(x), with erf.

use plan::{Device, Dtype, FusionVariant};
use tch::TchError;

use super::linear::{self, Operands};
use super::{Fusible, Inputs, Site, Step, mkldnn, torchscript};
use crate::native::addmm::Activation;
use crate::native::onednn::PostOp;
use crate::refusal::Refusal;

const UNFUSED: [&str; 3] = ["aten::mm", "aten::add", "aten::gelu"];

/// torch's name of the exact form.
const EXACT: &str = "none";

/// Upstream's function.
const SCRIPT: &str = "
def pattern(x, weight_t, bias):
    return torch.gelu(torch.addmm(bias, x, weight_t))";

pub(super) struct LinearBiasGelu;

impl Fusible for LinearBiasGelu {
    fn draw(&self, site: &Site) -> Result<Inputs, TchError> {
        linear::draw(site)
    }

    fn check(&self, site: &Site) -> Result<(), String> {
        match (site.work.variant, site.device) {
            (
                FusionVariant::Mkldnn | FusionVariant::MkldnnUnfused | FusionVariant::OnednnGraph,
                _,
            ) => mkldnn::check(site),
            (FusionVariant::Fused, Device::Cuda) => {
                Err("the GELU of `_addmm_activation` is the tanh approximation on cuda, \
                     another function than the exact one of the pattern"
                    .to_owned())
            }
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
                y.f_gelu(EXACT)
            })
            .reading(reads),
            FusionVariant::Fused => {
                linear::addmm_activation(site, [x, weight_t, bias], Activation::Gelu, "aten::gelu_")
            }
            FusionVariant::Addmm => Step::new(&["aten::addmm", "aten::gelu"], move || {
                bias.f_addmm(&x, &weight_t)?.f_gelu(EXACT)
            }),
            FusionVariant::Inplace => {
                Step::new(&["aten::mm", "aten::add_", "aten::gelu_"], move || {
                    x.f_mm(&weight_t)?.f_add_(&bias)?.f_gelu_(EXACT)
                })
            }
            FusionVariant::Mkldnn => linear::pointwise(site, x, &weight, bias, PostOp::Gelu)?,
            FusionVariant::MkldnnUnfused => linear::pointwise_unfused(
                site,
                x,
                &weight,
                bias,
                Some(("aten::gelu", |y| y.f_gelu(EXACT))),
            )?,
            FusionVariant::OnednnGraph => {
                linear::onednn_graph(site, x, weight, bias, "torch.gelu(y, approximate='none')")?
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
    /// | float32  | 112.1            | 112.1        | 114.4  | 100  |
    /// | bfloat16 | 44.8             | 46.2         | 51.9   | 38   |
    /// | float16  | 61.9             | 64.5         |        | 55   |
    ///
    /// The tanh approximation has 74 dB against the exact form: the gate stops it in float32; in
    /// half precision it hides behind the roundings.
    fn min_sqnr_db(&self, dtype: Dtype) -> f64 {
        match dtype {
            Dtype::Float64 | Dtype::Float32 => 100.0,
            Dtype::BFloat16 | Dtype::Float8E4M3Fn => 38.0,
            Dtype::Float16 => 55.0,
        }
    }
}

//! `linear_bias`: x·Wᵀ + b.

use plan::{Dtype, FusionVariant};
use tch::TchError;

use super::linear::{self, Operands};
use super::{Fusible, Inputs, Site, Step, mkldnn};
use crate::native::onednn::PostOp;
use crate::refusal::Refusal;

pub(super) struct LinearBias;

impl Fusible for LinearBias {
    fn draw(&self, site: &Site) -> Result<Inputs, TchError> {
        linear::draw(site)
    }

    fn check(&self, site: &Site) -> Result<(), String> {
        match site.work.variant {
            FusionVariant::Mkldnn | FusionVariant::MkldnnUnfused | FusionVariant::OnednnGraph => {
                mkldnn::check(site)
            }
            _ => Ok(()),
        }
    }

    fn build(&self, site: &Site, inputs: Inputs) -> Result<Step, Refusal> {
        let operands = linear::operands(inputs)?;
        let reads = operands.unfused();
        let Operands { x, weight, weight_t, bias } = operands;
        Ok(match site.work.variant {
            FusionVariant::Unfused => {
                Step::new(&["aten::mm", "aten::add"], move || x.f_mm(&weight_t)?.f_add(&bias))
                    .reading(reads)
            }
            FusionVariant::Fused => {
                Step::new(&["aten::addmm"], move || bias.f_addmm(&x, &weight_t))
            }
            FusionVariant::Inplace => {
                Step::new(&["aten::mm", "aten::add_"], move || x.f_mm(&weight_t)?.f_add_(&bias))
            }
            FusionVariant::Mkldnn => linear::pointwise(site, x, &weight, bias, PostOp::None)?,
            FusionVariant::MkldnnUnfused => {
                linear::pointwise_unfused(site, x, &weight, bias, None)?
            }
            FusionVariant::OnednnGraph => linear::onednn_graph(site, x, weight, bias, "y")?,
            _ => return Err(site.no_such_variant()),
        })
    }

    /// Lowest values measured on a CPU, in dB, over 8 to 28 seeds and sizes from
    /// 1x17x33 to 512x1024x1024 and 1x16384x16, where float32 is lowest:
    ///
    /// | dtype    | unfused, inplace | fused | mkldnn | gate |
    /// |----------|------------------|-------|--------|------|
    /// | float32  | 113.6            | 113.6 | 114.6  | 100  |
    /// | bfloat16 | 48.8             | 51.5  | 51.5   | 42   |
    /// | float16  | 66.9             | 70.0  |        | 60   |
    ///
    /// A bias that is missing leaves about 10·log10(k), which no gate of bfloat16 tells from
    /// rounding when k is beyond 15000.
    fn min_sqnr_db(&self, dtype: Dtype) -> f64 {
        match dtype {
            Dtype::Float64 | Dtype::Float32 => 100.0,
            Dtype::BFloat16 | Dtype::Float8E4M3Fn => 42.0,
            Dtype::Float16 => 60.0,
        }
    }
}

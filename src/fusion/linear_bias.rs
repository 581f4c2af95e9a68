//! `linear_bias`: x·Wᵀ + b.

use plan::{Dtype, FusionVariant, Pattern};
use tch::TchError;

use super::linear::{self, Operands};
use super::{Fusible, Inputs, Site, Step};
use crate::refusal::Refusal;

pub(super) struct LinearBias;

impl Fusible for LinearBias {
    fn draw(&self, site: &Site) -> Result<Inputs, TchError> {
        linear::draw(site)
    }

    fn check(&self, _: &Site) -> Result<(), String> {
        Ok(())
    }

    fn build(&self, site: &Site, inputs: Inputs) -> Result<Step, Refusal> {
        let Operands { x, weight_t, bias, .. } = linear::operands(inputs)?;
        Ok(match site.work.variant {
            FusionVariant::Unfused => {
                Step::new(&["aten::mm", "aten::add"], move || x.f_mm(&weight_t)?.f_add(&bias))
            }
            FusionVariant::Fused => {
                Step::new(&["aten::addmm"], move || bias.f_addmm(&x, &weight_t))
            }
            FusionVariant::Inplace => {
                Step::new(&["aten::mm", "aten::add_"], move || x.f_mm(&weight_t)?.f_add_(&bias))
            }
            other => {
                return Err(site.refuse(format!("{other} of {} is not built", Pattern::LinearBias)));
            }
        })
    }

    fn min_sqnr_db(&self, dtype: Dtype) -> f64 {
        match dtype {
            Dtype::Float32 => 100.0,
            Dtype::BFloat16 => 40.0,
            Dtype::Float16 => 60.0,
        }
    }
}

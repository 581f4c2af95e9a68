//! `conv2d_relu`: max(conv(x) + b, 0).

use plan::{Dtype, FusionVariant};
use tch::{TchError, Tensor};

use super::conv::{self, conv2d};
use super::{Fusible, Inputs, Site, Step};
use crate::native::onednn::PostOp;
use crate::refusal::Refusal;

pub(super) struct Conv2dRelu;

impl Fusible for Conv2dRelu {
    fn draw(&self, site: &Site) -> Result<Inputs, TchError> {
        conv::draw_biased(site)
    }

    fn check(&self, site: &Site) -> Result<(), String> {
        conv::check_with_relu(site)
    }

    fn build(&self, site: &Site, inputs: Inputs) -> Result<Step, Refusal> {
        let ([x], [filters, bias]) = inputs.into_parts()?;
        Ok(match site.work.variant {
            FusionVariant::Unfused => {
                Step::new(&conv::biased_kernels(site.device, &["aten::relu"]), move || {
                    conv2d(&x, &filters, Some(&bias))?.f_relu()
                })
            }
            FusionVariant::Fused => conv::with_relu(site, x, filters, bias)?,
            FusionVariant::Inplace => {
                Step::new(&conv::biased_kernels(site.device, &["aten::relu_"]), move || {
                    conv2d(&x, &filters, Some(&bias))?.f_relu_()
                })
            }
            FusionVariant::Mkldnn => {
                conv::pointwise(x, &filters, Some(bias), PostOp::Relu, &[], Ok)?
            }
            FusionVariant::MkldnnUnfused => {
                let relu = |y: Tensor| y.f_relu();
                conv::pointwise(x, &filters, Some(bias), PostOp::None, &["aten::relu"], relu)?
            }
            FusionVariant::OnednnGraph => {
                conv::onednn_graph(site, x, filters, bias, "torch.relu(y)")?
            }
            _ => return Err(site.no_such_variant()),
        })
    }

    /// Lowest values measured on a CPU, in dB, over 8 to 28 seeds, sizes from
    /// 1x3x7x5 to 8x256x256x14 and both layouts of images:
    ///
    /// | dtype    | unfused, inplace | fused, mkldnn | gate |
    /// |----------|------------------|---------------|------|
    /// | float32  | 118.0            | 118.0         | 100  |
    /// | bfloat16 | 54.0             | 54.0          | 46   |
    /// | float16  | 71.8             |               | 64   |
    fn min_sqnr_db(&self, dtype: Dtype) -> f64 {
        match dtype {
            Dtype::Float64 | Dtype::Float32 => 100.0,
            Dtype::BFloat16 | Dtype::Float8E4M3Fn => 46.0,
            Dtype::Float16 => 64.0,
        }
    }
}

//! `conv2d_bn`: a convolution without bias, then batch normalization with fixed statistics.

use plan::{Dtype, FusionVariant};
use tch::{TchError, Tensor};

use super::conv::{self, conv2d};
use super::{Fusible, Inputs, Site, Step};
use crate::inputs;
use crate::native::onednn::PostOp;
use crate::refusal::Refusal;

pub(super) struct Conv2dBn;

impl Fusible for Conv2dBn {
    fn draw(&self, site: &Site) -> Result<Inputs, TchError> {
        conv::draw_normalized(site)
    }

    fn check(&self, site: &Site) -> Result<(), String> {
        conv::check_onednn(site, site.work.variant)
    }

    fn build(&self, site: &Site, inputs: Inputs) -> Result<Step, Refusal> {
        let (x, filters, norm) = conv::normalized(inputs)?;
        Ok(match site.work.variant {
            FusionVariant::Unfused => Step::new(&["aten::conv2d", "aten::batch_norm"], move || {
                norm.apply(&conv2d(&x, &filters, None)?)
            }),
            FusionVariant::Fused => {
                let (filters, bias) = norm.fold(&filters)?;
                let stored = inputs::bytes(&filters) + inputs::bytes(&bias);
                let kernels = conv::biased_kernels(site.device, &[]);
                Step::new(&kernels, move || conv2d(&x, &filters, Some(&bias))).storing(stored)
            }
            FusionVariant::Mkldnn => {
                let (filters, bias) = norm.fold(&filters)?;
                conv::pointwise(x, &filters, Some(bias), PostOp::None, &[], Ok)?
            }
            FusionVariant::MkldnnUnfused => {
                let (stored, names) = (norm.bytes(), ["aten::batch_norm"]);
                let normalize = move |y: Tensor| norm.apply(&y);
                conv::pointwise(x, &filters, None, PostOp::None, &names, normalize)?
                    .storing_also(stored)
            }
            FusionVariant::OnednnGraph => {
                let (filters, bias) = norm.fold(&filters)?;
                let stored = inputs::bytes(&filters) + inputs::bytes(&bias);
                conv::onednn_graph(site, x, filters, bias, "y")?.storing(stored)
            }
            _ => return Err(site.no_such_variant()),
        })
    }

    /// Lowest values measured on a CPU, in dB, over the seeds, sizes and layouts of `conv2d_relu`:
    ///
    /// | dtype    | unfused | fused | mkldnn | gate |
    /// |----------|---------|-------|--------|------|
    /// | float32  | 120.8   | 120.5 | 120.5  | 100  |
    /// | bfloat16 | 52.5    | 48.2  | 48.2   | 42   |
    /// | float16  | 70.3    | 68.6  |        | 61   |
    ///
    /// In half precision folded filters are rounded a second time, which costs more than the
    /// rounding of an output between the operations.
    fn min_sqnr_db(&self, dtype: Dtype) -> f64 {
        match dtype {
            Dtype::Float64 | Dtype::Float32 => 100.0,
            Dtype::BFloat16 | Dtype::Float8E4M3Fn => 42.0,
            Dtype::Float16 => 61.0,
        }
    }
}

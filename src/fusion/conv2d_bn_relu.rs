//! `conv2d_bn_relu`: a convolution without bias, batch normalization with fixed statistics, then
//! max(·, 0).

use plan::{Dtype, FusionVariant};
use tch::{TchError, Tensor};

use super::conv::{self, conv2d};
use super::{Fusible, Inputs, Site, Step};
use crate::inputs;
use crate::native::onednn::PostOp;
use crate::refusal::Refusal;

pub(super) struct Conv2dBnRelu;

impl Fusible for Conv2dBnRelu {
    fn draw(&self, site: &Site) -> Result<Inputs, TchError> {
        conv::draw_normalized(site)
    }

    fn check(&self, site: &Site) -> Result<(), String> {
        conv::check_with_relu(site)
    }

    fn build(&self, site: &Site, inputs: Inputs) -> Result<Step, Refusal> {
        let (x, filters, norm) = conv::normalized(inputs)?;
        Ok(match site.work.variant {
            FusionVariant::Unfused => {
                Step::new(&["aten::conv2d", "aten::batch_norm", "aten::relu"], move || {
                    let mut y = conv2d(&x, &filters, None)?;
                    // Frees the convolution before ReLU, as a variable of Python's would.
                    y = norm.apply(&y)?;
                    y.f_relu()
                })
            }
            FusionVariant::Fused => {
                let (filters, bias) = norm.fold(&filters)?;
                let stored = inputs::bytes(&filters) + inputs::bytes(&bias);
                conv::with_relu(site, x, filters, bias)?.storing(stored)
            }
            FusionVariant::Folded => {
                let (filters, bias) = norm.fold(&filters)?;
                let stored = inputs::bytes(&filters) + inputs::bytes(&bias);
                let kernels = conv::biased_kernels(site.device, &["aten::relu"]);
                Step::new(&kernels, move || conv2d(&x, &filters, Some(&bias))?.f_relu())
                    .storing(stored)
            }
            // The normalization has no form in place.
            FusionVariant::Inplace => {
                Step::new(&["aten::conv2d", "aten::batch_norm", "aten::relu_"], move || {
                    norm.apply(&conv2d(&x, &filters, None)?)?.f_relu_()
                })
            }
            FusionVariant::Mkldnn => {
                let (filters, bias) = norm.fold(&filters)?;
                conv::pointwise(x, &filters, Some(bias), PostOp::Relu, &[], Ok)?
            }
            FusionVariant::MkldnnUnfused => {
                let (stored, names) = (norm.bytes(), ["aten::batch_norm", "aten::relu"]);
                let rest = move |y: Tensor| {
                    let y = {
                        // Frees the convolution before ReLU, as a variable of Python's would.
                        let convolution = y;
                        norm.apply(&convolution)?
                    };
                    y.f_relu()
                };
                conv::pointwise(x, &filters, None, PostOp::None, &names, rest)?.storing_also(stored)
            }
            FusionVariant::OnednnGraph => {
                let (filters, bias) = norm.fold(&filters)?;
                let stored = inputs::bytes(&filters) + inputs::bytes(&bias);
                conv::onednn_graph(site, x, filters, bias, "torch.relu(y)")?.storing(stored)
            }
            _ => return Err(site.no_such_variant()),
        })
    }

    /// Lowest values measured on a CPU, in dB, over the seeds, sizes and layouts of `conv2d_relu`:
    ///
    /// | dtype    | unfused, inplace | folded | fused, mkldnn | gate |
    /// |----------|------------------|--------|---------------|------|
    /// | float32  | 120.4            | 120.6  | 120.6         | 100  |
    /// | bfloat16 | 48.8             | 49.7   | 49.7          | 42   |
    /// | float16  | 65.5             | 64.7   |               | 58   |
    fn min_sqnr_db(&self, dtype: Dtype) -> f64 {
        match dtype {
            Dtype::Float64 | Dtype::Float32 => 100.0,
            Dtype::BFloat16 | Dtype::Float8E4M3Fn => 42.0,
            Dtype::Float16 => 58.0,
        }
    }
}

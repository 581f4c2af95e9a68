//! `qk_softmax`: softmax(Q·Kᵀ / √d), causal or not.

use plan::{Dtype, FusionVariant};
use tch::{TchError, Tensor};

use super::attention::{self, FusedScores, Scores};
use super::{Fusible, Inputs, Site, Step};
use crate::refusal::Refusal;

const SOFTMAX: [&str; 1] = ["aten::softmax"];

pub(super) struct QkSoftmax;

impl Fusible for QkSoftmax {
    fn draw(&self, site: &Site) -> Result<Inputs, TchError> {
        attention::draw(site)
    }

    fn check(&self, site: &Site) -> Result<(), String> {
        attention::check(site)
    }

    fn build(&self, site: &Site, inputs: Inputs) -> Result<Step, Refusal> {
        let ([q, k], mask) = attention::operands(inputs)?;
        let (_, heads, _, _) = q.size4()?;
        let share = |mask: &Option<Tensor>| mask.as_ref().map(Tensor::shallow_clone);
        let unfused = Scores::new(q.shallow_clone(), &k, share(&mask))?;
        Ok(match site.work.variant {
            FusionVariant::Unfused => {
                let reads = unfused.tensors();
                Step::new(&unfused.kernels(&SOFTMAX), move || attention::softmax(&unfused.run()?))
                    .reading(reads)
            }
            FusionVariant::Fused => {
                let fused = FusedScores::new(&q, &k, mask)?;
                Step::new(&["aten::baddbmm", "aten::softmax"], move || {
                    attention::unfold(&attention::softmax(&fused.run()?)?, heads)
                })
            }
            FusionVariant::Inplace => Step::new(&unfused.kernels_in_place(&SOFTMAX), move || {
                attention::softmax(&unfused.run_in_place()?)
            }),
            FusionVariant::TorchScript => {
                let (scale, kernels) = (attention::scale(&q)?, unfused.kernels(&SOFTMAX));
                let (q, k) = (attention::fold(&q)?, attention::fold(&k)?);
                match mask {
                    None => attention::torchscript(site, &script(scale), [q, k], &kernels, heads)?,
                    Some(mask) => {
                        let source = masked_script(scale);
                        attention::torchscript(site, &source, [q, k, mask], &kernels, heads)?
                    }
                }
            }
            FusionVariant::OnednnGraph => {
                let output = "torch.softmax(scores, dim=-1)";
                attention::onednn_graph(site, ["q", "k"], [q, k], mask, output)?
            }
            _ => return Err(site.no_such_variant()),
        })
    }

    /// Lowest values measured on a CPU, in dB, of all its variants, causal or not, over 15 sizes from a
    /// single score to 4096 tokens, 32 seeds each (2 of more than 300 tokens). `fused` rounds the scores
    /// once, not twice: it has 46.0 and 64.3 in the narrow dtypes.
    ///
    /// | dtype    | lowest | gate |
    /// |----------|--------|------|
    /// | float32  | 128.4  | 115  |
    /// | bfloat16 | 43.9   | 38   |
    /// | float16  | 61.5   | 55   |
    fn min_sqnr_db(&self, dtype: Dtype) -> f64 {
        match dtype {
            Dtype::Float64 | Dtype::Float32 => 115.0,
            Dtype::BFloat16 | Dtype::Float8E4M3Fn => 38.0,
            Dtype::Float16 => 55.0,
        }
    }
}

/// Upstream's function; the scale, which is a number and no tensor, is a constant here.
fn script(scale: f64) -> String {
    format!(
        "
def pattern(q, k):
    scores = torch.bmm(q, k.transpose(-2, -1)) * {scale:?}
    return torch.softmax(scores, dim=-1)"
    )
}

/// The same with a mask, which upstream lacks.
fn masked_script(scale: f64) -> String {
    format!(
        "
def pattern(q, k, mask):
    scores = torch.bmm(q, k.transpose(-2, -1)) * {scale:?} + mask
    return torch.softmax(scores, dim=-1)"
    )
}

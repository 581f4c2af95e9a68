//! `qk_scores`: Q·Kᵀ / √d.

use plan::{Dtype, FusionShape, FusionVariant};
use tch::TchError;

use super::attention::{self, FusedScores, Scores};
use super::{Fusible, Inputs, Site, Step};
use crate::refusal::Refusal;

pub(super) struct QkScores;

impl Fusible for QkScores {
    fn draw(&self, site: &Site) -> Result<Inputs, TchError> {
        attention::draw(site)
    }

    fn check(&self, site: &Site) -> Result<(), String> {
        match site.work.size {
            FusionShape::Attention { causal: true, .. } => {
                Err("scores alone have no mask; causal is for what has a softmax".to_owned())
            }
            _ => attention::check(site),
        }
    }

    fn build(&self, site: &Site, inputs: Inputs) -> Result<Step, Refusal> {
        let ([q, k], _) = attention::operands(inputs)?;
        let (_, heads, _, _) = q.size4()?;
        let unfused = Scores::new(q.shallow_clone(), &k, None)?;
        Ok(match site.work.variant {
            FusionVariant::Unfused => {
                let reads = unfused.tensors();
                Step::new(&unfused.kernels(&[]), move || unfused.run()).reading(reads)
            }
            FusionVariant::Fused => {
                let fused = FusedScores::new(&q, &k, None)?;
                Step::new(&["aten::baddbmm"], move || attention::unfold(&fused.run()?, heads))
            }
            FusionVariant::Inplace => {
                Step::new(&unfused.kernels_in_place(&[]), move || unfused.run_in_place())
            }
            FusionVariant::TorchScript => {
                let source = script(attention::scale(&q)?);
                let operands = [attention::fold(&q)?, attention::fold(&k)?];
                attention::torchscript(site, &source, operands, &unfused.kernels(&[]), heads)?
            }
            FusionVariant::OnednnGraph => {
                attention::onednn_graph(site, ["q", "k"], [q, k], None, "scores")?
            }
            _ => return Err(site.no_such_variant()),
        })
    }

    /// Lowest values measured on a CPU, in dB, of all its variants, over 15 sizes from a single score to
    /// 4096 tokens, 32 seeds each (2 of more than 300 tokens). The lowest in float32 is a single score
    /// that happens to be small.
    ///
    /// | dtype    | lowest | gate |
    /// |----------|--------|------|
    /// | float32  | 117.7  | 100  |
    /// | bfloat16 | 46.2   | 40   |
    /// | float16  | 61.1   | 55   |
    fn min_sqnr_db(&self, dtype: Dtype) -> f64 {
        match dtype {
            Dtype::Float64 | Dtype::Float32 => 100.0,
            Dtype::BFloat16 | Dtype::Float8E4M3Fn => 40.0,
            Dtype::Float16 => 55.0,
        }
    }
}

/// Upstream's function; the scale, which is a number and no tensor, is a constant here.
fn script(scale: f64) -> String {
    format!(
        "
def pattern(q, k):
    return torch.bmm(q, k.transpose(-2, -1)) * {scale:?}"
    )
}

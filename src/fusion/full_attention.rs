//! `full_attention`: softmax(Q·Kᵀ / √d)·V, causal or not.
//!
//! `scaled_dot_product_attention` (SDPA) chooses among kernels, and what it chooses depends on the
//! shape of its arguments: on the CPU, `[b, heads, s, d]` takes the flash kernel, and `[b, s, d]`, the
//! same numbers, the composite of products and softmax, which is several times slower. branes-ai/graphs
//! calls it with three dimensions. Here `fused` is the call with four, `sdpa-3d` the one with three, and
//! the kernels of both are libtorch's own answer.

use plan::{Device, Dtype, FusionShape, FusionVariant};
use tch::{TchError, Tensor};

use super::attention::{self, FusedScores, Scores};
use super::{Fusible, Inputs, Site, Step};
use crate::native::sdpa::{SdpaBackend, sdpa_backend};
use crate::refusal::Refusal;

pub(super) struct FullAttention;

impl Fusible for FullAttention {
    fn draw(&self, site: &Site) -> Result<Inputs, TchError> {
        attention::draw(site)
    }

    fn check(&self, site: &Site) -> Result<(), String> {
        match backend(site.work.variant) {
            Some(backend) => check_backend(site, backend),
            None => attention::check(site),
        }
    }

    fn build(&self, site: &Site, inputs: Inputs) -> Result<Step, Refusal> {
        let ([q, k, v], mask) = attention::operands(inputs)?;
        if let Some(backend) = backend(site.work.variant) {
            let (kernel, causal) = (backend.operation(site.place), mask.is_some());
            let run = move || Ok(backend.attend(&q, &k, &v, causal)?);
            return Ok(Step::new(&[kernel], run).storing(0));
        }
        match site.work.variant {
            FusionVariant::Unfused => {
                let scores = Scores::new(q, &k, mask)?;
                let mut reads = scores.tensors();
                reads.push(v.shallow_clone());
                let step = Step::new(&scores.kernels(&["aten::softmax", "aten::bmm"]), move || {
                    // Two variables until the end, as in upstream's function.
                    let scores = scores.run()?;
                    let weights = attention::softmax(&scores)?;
                    weights.f_matmul(&v)
                });
                Ok(step.reading(reads))
            }
            FusionVariant::Baddbmm => {
                let (_, heads, _, _) = q.size4()?;
                let (scores, v) = (FusedScores::new(&q, &k, mask)?, attention::fold(&v)?);
                Ok(Step::new(&["aten::baddbmm", "aten::softmax", "aten::bmm"], move || {
                    let scores = scores.run()?;
                    let weights = attention::softmax(&scores)?;
                    attention::unfold(&weights.f_bmm(&v)?, heads)
                }))
            }
            FusionVariant::Fused => sdpa([q, k, v], mask.is_some(), Ok),
            FusionVariant::Sdpa3d => {
                let (_, heads, _, _) = q.size4()?;
                let folded = [attention::fold(&q)?, attention::fold(&k)?, attention::fold(&v)?];
                sdpa(folded, mask.is_some(), move |out| attention::unfold(&out, heads))
            }
            FusionVariant::OnednnGraph => {
                let output = "torch.matmul(torch.softmax(scores, dim=-1), v)";
                attention::onednn_graph(site, ["q", "k", "v"], [q, k, v], mask, output)
            }
            _ => Err(site.no_such_variant()),
        }
    }

    /// Lowest values measured on a CPU, in dB, of all its variants, causal or not, over 11 sizes from a
    /// single token to 1500, 4 seeds each. In the narrow dtypes they are those of `unfused`: the flash
    /// kernel, which keeps the scores in float32, has 52.8 and 70.7, the composite, which computes in
    /// it, 54.5 and 72.2.
    ///
    /// | dtype    | lowest | gate |
    /// |----------|--------|------|
    /// | float32  | 127.7  | 115  |
    /// | bfloat16 | 44.1   | 38   |
    /// | float16  | 62.3   | 55   |
    fn min_sqnr_db(&self, dtype: Dtype) -> f64 {
        match dtype {
            Dtype::Float64 | Dtype::Float32 => 115.0,
            Dtype::BFloat16 | Dtype::Float8E4M3Fn => 38.0,
            Dtype::Float16 => 55.0,
        }
    }
}

/// SDPA on tensors of either shape, and the kernel that it takes for them.
fn sdpa(
    [q, k, v]: [Tensor; 3],
    causal: bool,
    view: impl Fn(Tensor) -> Result<Tensor, TchError> + 'static,
) -> Result<Step, Refusal> {
    let kernel = sdpa_backend(&q, &k, &v, causal)?.operation(q.device());
    let run = move || {
        let none = None::<&Tensor>;
        view(Tensor::f_scaled_dot_product_attention(&q, &k, &v, none, 0.0, causal, None, false)?)
    };
    // A flag is all that it needs of the mask.
    Ok(Step::new(&[kernel], run).storing(0))
}

/// The kernel that a variant calls by name.
fn backend(variant: FusionVariant) -> Option<SdpaBackend> {
    match variant {
        FusionVariant::SdpaMath => Some(SdpaBackend::Math),
        FusionVariant::SdpaFlash => Some(SdpaBackend::Flash),
        FusionVariant::SdpaEfficient => Some(SdpaBackend::Efficient),
        FusionVariant::SdpaCudnn => Some(SdpaBackend::CudnnAttention),
        _ => None,
    }
}

/// On CUDA, what SDPA itself asks before it takes the kernel (libtorch 2.11): called by name, a kernel
/// that is asked for more fails. What depends on the GPU's generation is left to the kernel.
fn check_backend(site: &Site, backend: SdpaBackend) -> Result<(), String> {
    let FusionShape::Attention { s, d, .. } = site.work.size else { return Ok(()) };
    let (what, multiple, most) = match (backend, site.dtype) {
        (SdpaBackend::Flash, _) if site.device == Device::Cpu => return Ok(()),
        (SdpaBackend::Flash, _) => ("FlashAttention", 8, 256),
        (SdpaBackend::Efficient, Dtype::Float32) => ("memory-efficient attention", 4, u64::MAX),
        (SdpaBackend::Efficient, _) => ("memory-efficient attention", 8, u64::MAX),
        (SdpaBackend::CudnnAttention, _) => ("cuDNN's attention", 8, 128),
        (SdpaBackend::Math | SdpaBackend::Overrideable, _) => return Ok(()),
    };
    let efficient = backend == SdpaBackend::Efficient;
    if site.device != Device::Cuda {
        Err(format!("libtorch has {what} on cuda alone, not on {}", site.device))
    } else if site.dtype == Dtype::Float32 && !efficient {
        Err(format!("{what} takes bfloat16 and float16, not {}", site.dtype))
    } else if !d.is_multiple_of(multiple) {
        Err(format!("{what} takes features in multiples of {multiple}: d is {d}"))
    } else if d > most {
        Err(format!("{what} takes at most {most} features: d is {d}"))
    } else if s == 1 && backend == SdpaBackend::CudnnAttention {
        Err(format!("{what} takes no single token: s is 1"))
    } else {
        Ok(())
    }
}

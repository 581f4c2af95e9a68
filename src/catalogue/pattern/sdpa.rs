//! `full_attention` by `scaled_dot_product_attention` (SDPA).
//!
//! SDPA chooses among kernels, and what it chooses depends on the shape of its arguments: on the CPU,
//! `[b, heads, s, d]` takes the flash kernel, and `[b, s, d]`, the same numbers, the composite of
//! products and softmax, which is several times slower. branes-ai/graphs calls it with three
//! dimensions. Here `fused` is the call with four, `sdpa-3d` the one with three, and the kernels of both
//! are libtorch's own answer.

use plan::{Device, Dtype, FusionShape, FusionVariant, FusionWork};
use tch::{TchError, Tensor};

use crate::kernel::{KernelContext, Step};
use crate::native::sdpa::{SdpaBackend, sdpa_backend};
use crate::refusal::Refusal;

/// The context's variant on Q, K and V. A flag is all that it needs of the mask.
pub(super) fn build(
    context: &KernelContext<FusionWork>,
    [q, k, v]: [Tensor; 3],
    causal: bool,
) -> Result<Step, Refusal> {
    let step = match (backend(context.work.variant), context.work.variant) {
        (Some(backend), _) => Step::new(&[backend.operation(context.torch_device)], move || {
            backend.attend(&q, &k, &v, causal)
        }),
        (None, FusionVariant::Fused) => chosen([q, k, v], causal, Ok)?,
        (None, FusionVariant::Sdpa3d) => {
            let (_, heads, _, _) = q.size4()?;
            let folded = [fold(&q)?, fold(&k)?, fold(&v)?];
            chosen(folded, causal, move |out| unfold(&out, heads))?
        }
        _ => return Err(context.no_such_implementation()),
    };
    Ok(step.storing(0))
}

/// SDPA on tensors of either shape, and the kernel that it takes for them.
fn chosen(
    [q, k, v]: [Tensor; 3],
    causal: bool,
    view: impl Fn(Tensor) -> Result<Tensor, TchError> + 'static,
) -> Result<Step, Refusal> {
    let kernel = sdpa_backend(&q, &k, &v, causal)?.operation(q.device());
    Ok(Step::new(&[kernel], move || {
        let none = None::<&Tensor>;
        view(Tensor::f_scaled_dot_product_attention(&q, &k, &v, none, 0.0, causal, None, false)?)
    }))
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

/// Checks, on CUDA, SDPA's own conditions for the kernel (libtorch 2.11): called by name, the
/// kernel fails if they do not hold. Conditions on the GPU's generation are left to the kernel.
pub(super) fn check(context: &KernelContext<FusionWork>) -> Result<(), String> {
    let (FusionShape::Attention { s, d, .. }, Some(backend)) =
        (context.work.size, backend(context.work.variant))
    else {
        return Ok(());
    };
    let (what, multiple, most) = match (backend, context.dtype) {
        (SdpaBackend::Flash, _) if context.device == Device::Cpu => return Ok(()),
        (SdpaBackend::Flash, _) => ("FlashAttention", 8, 256),
        (SdpaBackend::Efficient, Dtype::Float32) => ("memory-efficient attention", 4, u64::MAX),
        (SdpaBackend::Efficient, _) => ("memory-efficient attention", 8, u64::MAX),
        (SdpaBackend::CudnnAttention, _) => ("cuDNN's attention", 8, 128),
        (SdpaBackend::Math | SdpaBackend::Overrideable, _) => return Ok(()),
    };
    let efficient = backend == SdpaBackend::Efficient;
    if context.device != Device::Cuda {
        Err(format!("libtorch has {what} only on cuda, not on {}", context.device))
    } else if context.dtype == Dtype::Float32 && !efficient {
        Err(format!("{what} takes bfloat16 and float16, not {}", context.dtype))
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

/// `[b·heads, s, d]` of `[b, heads, s, d]`, a view: every head of a sequence is an example.
pub(super) fn fold(tensor: &Tensor) -> Result<Tensor, TchError> {
    let (b, heads, s, d) = tensor.size4()?;
    tensor.f_view([b * heads, s, d])
}

/// The heads of `[b·heads, s, ·]` as an axis of their own again, a view.
pub(super) fn unfold(tensor: &Tensor, heads: i64) -> Result<Tensor, TchError> {
    let (all, s, last) = tensor.size3()?;
    tensor.f_view([all / heads, heads, s, last])
}

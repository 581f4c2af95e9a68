//! oneDNN's operations with a post-op: where they run, and what their weights take.

use plan::{Device, Dtype, FusionVariant, FusionWork};
use tch::Tensor;

use crate::kernel::{KernelContext, Step};
use crate::native::{Error, memory, onednn};
use crate::refusal::Refusal;

/// Whether they run here, in the context's dtype, where the variant consists of them.
pub(super) fn check(context: &KernelContext<FusionWork>) -> Result<(), String> {
    match context.work.variant {
        FusionVariant::Mkldnn | FusionVariant::MkldnnUnfused | FusionVariant::OnednnGraph => {
            supports(context)
        }
        _ => Ok(()),
    }
}

/// Checks device and precision, whatever the variant.
pub(super) fn supports(context: &KernelContext<FusionWork>) -> Result<(), String> {
    match context.device {
        Device::Cpu => onednn::supports(context.kind()),
        other => Err(format!("oneDNN's operations with a post-op are for cpu, not {other}")),
    }
}

/// A weight and the bytes that it takes: those that reordering it allocated, because oneDNN pads
/// its blocks, and a tensor in its layout does not tell.
pub(super) fn reordered(
    reorder: impl FnOnce() -> Result<Tensor, Error>,
) -> Result<(Tensor, u64), Refusal> {
    let (weight, report) = memory::track(reorder)?;
    Ok((weight?, report.cpu.live_bytes.unsigned_abs()))
}

/// The note on weights that were reordered.
pub(super) const REORDERED: &str =
    "its weights are reordered beforehand; `unfused` has them as they come";

/// A product whose weights were reordered, with what that means for its speed-up.
pub(super) fn noting_reordered(step: Step, context: &KernelContext<FusionWork>) -> Step {
    with_own_product(step.noting(REORDERED), context.dtype)
}

/// A step whose product is oneDNN's, with what that means for its speed-up: libtorch leaves products in
/// float32 to the BLAS library that it was built with, those in half precision to oneDNN.
pub(super) fn with_own_product(step: Step, dtype: Dtype) -> Step {
    match dtype {
        Dtype::Float64 | Dtype::Float32 => step.noting(
            "its product is oneDNN's, that of `unfused` the BLAS library's: not all of the speed-up \
             is fusion's",
        ),
        Dtype::BFloat16 | Dtype::Float16 | Dtype::Float8E4M3Fn => step,
    }
}

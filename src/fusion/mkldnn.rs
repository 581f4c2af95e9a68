//! oneDNN's operations with a post-op: where they run, and what their weights take.

use plan::{Device, Dtype};
use tch::Tensor;

use super::{Site, Step};
use crate::inputs;
use crate::native::{Error, memory, onednn};
use crate::refusal::Refusal;

/// Whether they run here, in the site's dtype.
///
/// # Errors
/// The constraint and the value that broke it.
pub(super) fn check(site: &Site) -> Result<(), String> {
    match site.device {
        Device::Cpu => onednn::supports(inputs::kind(site.dtype)),
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

/// A step whose weights were reordered, with what that means for its speed-up.
pub(super) fn noting_reordered(step: Step) -> Step {
    step.noting("its weights are reordered beforehand; `unfused` has them as they come".to_owned())
}

/// A step whose product is oneDNN's, with what that means for its speed-up: libtorch leaves products in
/// float32 to the BLAS library that it was built with, those in half precision to oneDNN.
pub(super) fn with_own_product(step: Step, dtype: Dtype) -> Step {
    match dtype {
        Dtype::Float64 | Dtype::Float32 => step.noting(
            "its product is oneDNN's, that of `unfused` the BLAS library's: not all of the speed-up \
             is fusion's"
                .to_owned(),
        ),
        Dtype::BFloat16 | Dtype::Float16 | Dtype::Float8E4M3Fn => step,
    }
}

//! Triton kernels, compiled on the machine that runs them.
//!
//! Their source is Python, in this folder and in the program. When a case that needs one is built,
//! a child process, which stays for the next one, compiles it for the GPU at hand, and the result is
//! kept on disk; from then on Python is not needed. The driver launches it on torch's current stream and
//! torch's memory. Building and testing need neither Python nor CUDA: where one is missing,
//! `Refusal::Skipped` says how to get it.
//!
//! | step | file |
//! |---|---|
//! | find a Python with Triton, run it | `python.rs` |
//! | a kernel, its constants and the GPU → metadata and cubin | `compile.rs`, `compile.py` |
//! | cubins on disk, cubin → functions | `../cache.rs`, `../cuda/module.rs` |
//! | launch | `kernel.rs` |
//! | tensors as rows; what is demanded of them; what a program works on | `../rows.rs`, `../operands.rs`, `tile.rs` |
//! | the operators | `operator.rs`; `activation.py`, `norm.py`, `softmax.py`, `loss.py` |
//! | products with quantized weights | `gemlite.rs`, `gemlite.py` |
//!
//! **Launches.** After the parameters in its source, a kernel takes two more, addresses of scratch
//! memory: one for itself, one for Triton's profiler. The kernels here use neither, and both are
//! null. `Metadata::check` refuses a kernel that says otherwise, or whose entry function does not
//! have just these parameters, so that another Triton is refused rather than misunderstood.
//!
//! **Alignment.** A kernel moves 16 bytes at once where 16 divides all of its addresses, sizes and
//! strides. That is promised in one compiled form and not in the other, and each launch takes the
//! form whose promise it keeps.
//!
//! In tests the kernels are compiled for compute capabilities 8.0, 9.0 and 10.0 and executed by Triton's
//! interpreter; the test that runs them on a device is skipped where there is none. On an H100 they
//! passed, without an error for compute-sanitizer's memcheck.

mod compile;
pub(crate) mod gemlite;
mod kernel;
mod operator;
mod python;
mod tile;

pub use operator::OperatorKernels;

use crate::cache;
use native::refusal::Refusal;

/// Whether there is what compiles kernels, or compiled ones: asked before anything is made for them.
///
/// # Errors
/// Skipped, with the remedy, where no Python has Triton and nothing is kept.
pub fn available() -> Result<(), Refusal> {
    match python::python() {
        Err(_) if cache::holds(compile::EXTENSION) => Ok(()),
        found => found.map(drop),
    }
}

#[cfg(test)]
mod tests;

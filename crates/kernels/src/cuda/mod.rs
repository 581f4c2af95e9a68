//! CUDA kernels, compiled on the machine that runs them.
//!
//! Their source is in this folder and in the program; NVRTC compiles it for the GPU at hand when
//! a layer that needs it is built, and the result is kept on disk. Building needs no CUDA, and the
//! libraries are loaded when they are asked for: where one is missing, `Refusal::Skipped` says how
//! to get it.
//!
//! A kernel is one `.cu` file, which sees what `ptx.cuh` and `prelude.cuh` offer, and one Rust file
//! that names its entry functions and knows what they accept:
//!
//! ```text
//! const SOURCE: Source = source!("name.cu");
//! let kernel = Module::load(&SOURCE, device)?.function("entry")?;      // when the layer is built
//! kernel.launch(grid, &[Argument::pointer(&x), Argument::Int(n)])?;    // on torch's current stream
//! ```
//!
//! | step | file |
//! |---|---|
//! | find NVRTC and the driver | `libraries.rs` |
//! | source → cubin | `compile.rs` |
//! | cubins on disk | `../cache.rs` |
//! | cubin → functions, launch | `module.rs` |
//! | which kernel, over which grid, with which arguments | `launch.rs` |
//!
//! | operators | files |
//! |---|---|
//! | products with quantized weights | `gemlite` |
//! | those of `plan::Operator` | `operator.rs`; `pointwise.cu`, `normalization.cu`, `softmax.cu`, `losses.cu` |
//! | the pass-through limit: memory read and written, and nothing computed | `pass_through` |
//! | those of an author's own, any precision | `src/kernel/cuda.rs` of the library, `element.cuh` |
//!
//! In tests the kernels are compiled by NVRTC for compute capabilities 8.0, 9.0 and 10.0 and executed
//! thread by thread on the CPU; the test that runs them on a device is skipped where there is none. On
//! an H100 they passed, without an error for compute-sanitizer's memcheck; its racecheck found no race in
//! the kernels before those that keep a row in registers.

mod compile;
pub mod gemlite;
mod launch;
mod libraries;
mod module;
mod operator;
pub mod pass_through;

use compile::source;
pub use compile::{Capability, PRELUDE, Source, compile, cubin};
pub use module::{Argument, Function, Grid, Module, primary_context};
use native::refusal::Refusal;
pub use operator::OperatorKernels;

/// Whether there is what compiles and loads kernels: asked before anything is made for them.
///
/// # Errors
/// Skipped, with the remedy, where NVRTC or the driver is missing.
pub fn available() -> Result<(), Refusal> {
    libraries::driver()?;
    libraries::nvrtc().map(drop)
}

#[cfg(any(test, feature = "emulation"))]
#[path = "tests/emulation.rs"]
pub mod emulation;
#[cfg(test)]
#[path = "tests/samples.rs"]
mod samples;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::frames;

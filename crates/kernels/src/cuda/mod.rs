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
//! | cubins on disk | `cache.rs`, `../cache.rs` |
//! | cubin → functions, launch | `module.rs` |
//! | tensors as rows, alignment, grids | `operator.rs` |
//!
//! | operators | files |
//! |---|---|
//! | products with quantized weights | `gemlite` |
//! | gelu, gelu_tanh, silu, bias_gelu | `pointwise` |
//! | layer_norm with and without weights, rms_norm, add_layer_norm | `normalization` |
//! | softmax | `softmax` |
//! | mse_loss, cross_entropy | `losses` |
//! | the pass-through limit: memory read and written, and nothing computed | `pass_through` |
//! | those of an author's own, any precision | `../../kernel/cuda.rs`, `element.cuh` |
//!
//! **Not yet run on a GPU.** The kernels are compiled by NVRTC for compute capabilities 8.0, 9.0
//! and 10.0 and executed thread by thread on the CPU in tests; the test that runs them on a device
//! is skipped where there is none.

mod cache;
mod compile;
pub mod gemlite;
mod libraries;
pub mod losses;
mod module;
pub mod normalization;
mod operator;
pub mod pass_through;
pub mod pointwise;
pub mod softmax;

pub use cache::cubin;
use compile::source;
pub use compile::{Capability, PRELUDE, Source, compile};
pub use module::{Argument, Function, Grid, Module};
use native::refusal::Refusal;

/// Whether there is what compiles and loads kernels: asked before anything is made for them.
///
/// # Errors
/// Skipped, with the remedy, where NVRTC or the driver is missing.
pub fn available() -> Result<(), Refusal> {
    libraries::driver()?;
    libraries::nvrtc().map(drop)
}

#[cfg(any(test, feature = "emulation"))]
pub mod emulation;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

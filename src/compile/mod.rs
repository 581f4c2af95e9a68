//! `torch.compile` without Python at measuring time.
//!
//! A step is recorded as TorchScript, with every tensor that it reads as an input. A child process,
//! `aot_compile.py`, which knows no model, retraces the graph and has AOTInductor compile it with
//! the settings of `torch.compile`'s mode; the package lies on disk from then on, and
//! `native::package` runs it. Weights are inputs of the package and no part of it, as they are for
//! `torch.compile`, which freezes none.
//!
//! | step | file |
//! |---|---|
//! | what a case asks for, and whether this machine has it | `options.rs` |
//! | a step → graph, inputs, key → package | `job.rs`, `input.rs` |
//! | all that decides what a package is → its name | `key.rs` |
//! | the C++ compiler, and what it compiles for | `toolchain.rs` |
//! | graph → package, in a child process | `inductor.rs`, `aot_compile.py` |
//! | packages on disk, shared between processes | `libtorch::packages` |

mod inductor;
mod input;
mod job;
mod key;
mod options;
mod toolchain;

pub use inductor::SETTINGS;
pub use job::{Compiled, Job};
pub use options::{Options, available};

#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod real_tests;

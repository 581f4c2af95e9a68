//! Kernels for the CPU. Each exists for several instruction sets ([`Capability`]), one of which is
//! chosen at run time and in its name, and runs on the threads of torch's own operators
//! ([`parallel`]), unless it says otherwise.

mod capability;
mod expand;
mod fp6;
pub mod math;
pub mod parallel;
pub mod pointwise;
pub mod rows;
mod slices;
pub mod stream;
pub mod traffic;
pub mod vector;
pub mod weight_mm;

pub use capability::Capability;
pub use expand::expand_2_4;
pub(crate) use expand::{Path as ExpandPath, expand_2_4_and};
pub use fp6::fp6_unpack;

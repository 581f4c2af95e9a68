//! Kernels for the CPU. Each exists for several instruction sets ([`Capability`]), one of which is
//! chosen at run time, and runs on as many threads as torch's own operators ([`parallel`]).

mod capability;
pub mod parallel;
pub mod weight_mm;

pub use capability::Capability;

//! Kernels on the CPU. Each has a portable form, and others for the instructions that the machine
//! is found to have when it runs.

mod expand;
mod fp6;
mod slices;

pub use expand::expand_2_4;
pub use fp6::fp6_unpack;

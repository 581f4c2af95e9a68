//! Measures that criterion does not hold, each with the probe that fills it.

mod environment;
pub mod gpu;
pub mod nvml;

pub use environment::{allocator_label, environment};

//! Measures that criterion does not hold, each with the probe that fills it.

mod environment;

pub use environment::{allocator_label, environment};

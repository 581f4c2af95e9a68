//! Kernels of our own, for what libtorch has none for.

pub mod cpu;

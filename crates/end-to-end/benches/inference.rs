//! The inference of configs/inference.

criterion_torch::main!("inference");

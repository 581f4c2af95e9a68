//! The fusion of configs/fusion.

criterion_torch::main!("fusion");

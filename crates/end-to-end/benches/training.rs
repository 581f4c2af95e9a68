//! The training of configs/training.

criterion_torch::main!("training");

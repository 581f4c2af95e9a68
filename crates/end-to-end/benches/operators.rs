//! The operators of configs/operators.

criterion_torch::main!("operators");

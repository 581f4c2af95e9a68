//! The operators of configs/operators.

criterion_torch::bench_target!("operators");

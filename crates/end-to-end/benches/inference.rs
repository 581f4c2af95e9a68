//! The inference of configs/inference.

criterion_torch::bench_target!("inference");

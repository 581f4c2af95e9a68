//! The fusion of configs/fusion.

criterion_torch::bench_target!("fusion");

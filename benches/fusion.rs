//! Fusion: every pattern of the configs in `configs/fusion`, or of those in `BENCH_CONFIG`, fused and
//! unfused.

criterion_torch::main!("fusion");

//! Inference: every group of the configs in `configs/inference`, or of those in `BENCH_CONFIG`.

criterion_torch::main!("inference");

//! Training: every group of the configs in `configs/training`, or of those in `BENCH_CONFIG`: forward, backward, steps
//! and casts, each by itself.

criterion_torch::main!("training");

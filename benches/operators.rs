//! Operators: every implementation of those in `configs/operators`, or in `BENCH_CONFIG`, beside
//! ATen's.

criterion_torch::main!("operators");

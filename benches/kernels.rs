//! Kernels: every file under `benches/kernels`, or under the `kernel_paths` of the configs in
//! `configs/kernels` or `BENCH_CONFIG`.

criterion_torch::main!("kernels");

//! The kernels of kernels/, which configs/kernels names.

criterion_torch::main!("kernels");

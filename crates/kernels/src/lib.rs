//! Kernels of our own, for what libtorch has none.
//!
//! A kernel works on the memory of torch tensors and is reached through a safe function that checks
//! sizes, dtypes and devices. It is named `criterion_torch::…` in the records, and where there is a
//! choice of instructions or algorithms, the name says which one ran: `…_avx512`, `…_gemv`.

mod cache;
pub mod cpu;
pub mod cuda;
pub mod operands;
mod overlap;
mod rows;
pub mod triton;

#[cfg(test)]
#[path = "../../../tests/common/skip.rs"]
mod skip;

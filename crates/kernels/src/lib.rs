#![doc = include_str!("../README.md")]
//!
//! A kernel is named `criterion_torch::…` in the records, and where there is a
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

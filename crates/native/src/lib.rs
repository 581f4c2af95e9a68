#![doc = include_str!("../README.md")]
//!
//! There is one file per noun, and one for how errors become the reason why a case was not measured. Nothing here
//! measures. These are the instruments; the library's `measurement` decides when to read them.

pub mod accelerator;
pub mod addmm;
pub mod allocator;
pub mod autograd;
mod border;
pub mod constants;
pub mod cuda;
pub mod cuda_graph;
mod error;
pub mod event;
pub mod fence;
pub mod gate;
pub mod generator;
pub mod huge_pages;
pub mod layer_norm;
pub mod memory;
pub mod memory_history;
pub mod numerics;
pub mod nvtx;
pub mod onednn;
pub mod optimizer;
pub mod package;
pub mod parallel;
pub mod profile;
pub mod refusal;
pub mod runtime;
pub mod scaled_mm;
pub mod script;
pub mod sdpa;
pub mod storage;
pub mod trace;
pub mod triad;

pub use error::{Error, is_out_of_memory};

#[cfg(test)]
#[path = "../../../tests/common/skip.rs"]
mod skip;

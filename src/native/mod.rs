//! Safe wrappers of what tch does not bind, one file per noun of the C++ shim.
//!
//! Not here: anything that measures. These are the instruments; `measurement` decides when to read them.

pub mod addmm;
pub mod allocator;
pub mod constants;
pub mod cuda;
mod error;
pub mod event;
pub mod huge_pages;
pub mod memory;
pub mod numerics;
pub mod onednn;
pub mod package;
pub mod parallel;
pub mod profile;
pub mod runtime;
pub mod script;
pub mod sdpa;
pub mod storage;
mod tensor;
pub mod trace;
pub mod triad;

pub use error::{Error, is_out_of_memory};

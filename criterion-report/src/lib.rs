#![doc = include_str!("../README.md")]
//!
//! `units`, `visible` → `model` → `write` → `cli`: each stands on those before it. The model reads criterion's
//! files and our records and computes; a writer turns a `model::Report` into text and computes
//! nothing; the command line chooses.

#![allow(
    missing_docs,
    reason = "all but `fusion` is for this program, its tests, benchmarks and fuzz targets"
)]

#[doc(hidden)]
pub mod calibration;
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod compare;
pub mod fusion;
mod json_text;
#[doc(hidden)]
pub mod kernels;
#[doc(hidden)]
pub mod merge;
#[doc(hidden)]
pub mod model;
mod object;
mod order;
mod output;
mod parallel;
#[doc(hidden)]
pub mod planned;
#[doc(hidden)]
pub mod schema;
mod torchao_output;
#[doc(hidden)]
pub mod units;
#[doc(hidden)]
pub mod validate;
mod visible;
mod words;
#[doc(hidden)]
pub mod write;

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
pub mod cli;
#[doc(hidden)]
pub mod compare;
#[doc(hidden)]
pub mod export;
pub mod fusion;
#[doc(hidden)]
pub mod html;
#[doc(hidden)]
pub mod merge;
#[doc(hidden)]
pub mod model;
mod order;
mod output;
mod parallel;
#[doc(hidden)]
pub mod read;
#[doc(hidden)]
pub mod render;
#[doc(hidden)]
pub mod views;
mod visible;

#![doc = include_str!("../README.md")]
//!
//! `render` → `model` → `read` → `compare` → `views` → `export`, `html` → `cli`: each stands on those before it. The
//! model computes, `read` makes a `Report` of criterion's files and our records, a view chooses rows and columns, and
//! the command line chooses the view.

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

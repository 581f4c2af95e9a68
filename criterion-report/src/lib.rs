#![doc = include_str!("../README.md")]
//!
//! `units`, `visible` → `model` → `write` → `cli`: each stands on those before it. The model reads criterion's
//! files and our records and computes; a writer turns a [`model::Report`] into text and computes
//! nothing; the command line chooses.

#![allow(missing_docs, reason = "it is for this program, its tests, benchmarks and fuzz targets")]

pub mod calibration;
pub mod cli;
pub mod compare;
pub mod kernels;
pub mod model;
mod object;
mod output;
pub mod planned;
pub mod schema;
pub mod units;
pub mod validate;
mod visible;
mod words;
pub mod write;

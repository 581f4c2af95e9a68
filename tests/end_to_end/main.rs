//! From YAML files through a real `cargo bench` to what `criterion-report` writes, as a user would.

mod calibration;
mod compiled;
mod fusion;
mod inference;
mod kernels;
mod lab;
mod operators;
#[path = "../common/skip.rs"]
mod skip;

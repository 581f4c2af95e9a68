//! From YAML files through the programs that are generated from them to what `criterion-report` writes,
//! as a user would.

mod calibration;
mod compiled;
mod dependencies;
mod explain;
mod fusion;
mod inference;
mod judged;
mod kernels;
mod operators;
mod own;
mod profile;
#[path = "../../../../tests/common/skip.rs"]
mod skip;
mod workspace;

//! The commands as a program, with a cargo that only writes down its arguments.
#![cfg(unix)]

mod closed;
#[path = "../../cargo-torch-bench/tests/common/mod.rs"]
#[allow(dead_code, reason = "the tool's tests use the rest")]
mod common;
mod gpu_check;
mod tests;
mod torchao;

const PROGRAM: &str = env!("CARGO_BIN_EXE_xtask");

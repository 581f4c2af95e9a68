//! The workflow that measures, which users copy: what its file says, and its scripts, each run by itself. The other
//! workflows are tested in `crates/documents`.
#![cfg(target_os = "linux")]

mod file;
mod github;
mod issue;
mod nightly;
mod place;
#[path = "../common/program.rs"]
mod program;
mod promises;
mod rows;
mod scripts;

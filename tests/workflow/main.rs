//! The workflow that users get: what its file says, and its scripts, each run by itself.
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

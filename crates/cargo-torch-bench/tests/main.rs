//! The tool as a program: with the real cargo and git, or with ones that only write down their arguments.

mod branches;
mod bundle;
mod cache;
mod closed;
mod commands;
mod common;
mod flavours;
mod interrupted;
mod link;
mod new;
mod requirements;
mod revisions;
mod runs;
mod selection;
mod setup;
mod submit;
mod versions;

const PROGRAM: &str = env!("CARGO_BIN_EXE_cargo-torch-bench");

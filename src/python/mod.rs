//! Python, for what only Python's packages compile: which one it is, and its child processes.
//!
//! Nothing here runs while something is measured. Building and testing need no Python: what lacks
//! one ends as `Refusal::Skipped`, with the remedy.

#[cfg(test)]
pub(crate) mod fake;
mod interpreter;

pub use interpreter::{Interpreter, interpreter};
pub use libtorch::child::{Patience, Program, RunError, without_variables};

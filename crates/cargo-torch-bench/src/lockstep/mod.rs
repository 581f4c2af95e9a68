//! Two revisions of benchmarks, measured in turns of a tenth of a second by processes that wait for each other.

mod connection;
pub mod linker;
mod pair;
#[cfg(test)]
mod peer;
mod process;
mod programs;
mod schedule;

pub use process::Program;
pub use programs::{Checkout, Selection, has_plugin};
pub use schedule::{Order, Outcome, measure_all};

//! A user's kernel as another process has judged it.

use serde::{Deserialize, Serialize};

use super::Check;

/// The findings of a process that ran the kernel in a child, on inputs that the kernel had never seen, by its own clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judged {
    /// Nanoseconds of a call in batches, by the judge's clock: the median. Absent where a check failed before.
    pub ns: Option<f64>,
    /// Calls that were made.
    pub calls: u64,
    /// Those of them whose outputs were compared with the reference.
    pub compared: u64,
    /// The seeds of the inputs that were drawn, in their order. The case's own seed is not among them.
    pub seeds: Vec<i64>,
    /// Its questions and what it found, in their order. One that failed has failed the case.
    pub checks: Vec<Check>,
}

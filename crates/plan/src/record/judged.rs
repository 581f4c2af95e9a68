//! A user's kernel as another process has judged it.

use serde::{Deserialize, Serialize};

use super::{Check, CheckStatus};

/// The findings of a process that ran the kernel in a child, on inputs that the kernel had never seen, by its own clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judged {
    /// Nanoseconds of a call in batches, by the judge's clock: the median. Absent where a check failed before.
    pub ns: Option<f64>,
    /// Calls that were made.
    pub calls: u64,
    /// Calls whose outputs were compared with the reference.
    pub compared: u64,
    /// The seeds of the inputs that were drawn, in their order. The case's own seed is not among them.
    pub seeds: Vec<i64>,
    /// Its questions and what it found, in their order. One that failed has failed the case.
    pub checks: Vec<Check>,
}

impl Judged {
    /// The checks by name, and what each of them asks.
    pub const CHECKS: [(&str, &str); 15] = [
        ("output", "Does the output agree with the reference, on new inputs at random calls?"),
        ("inputs", "Are inputs left as they were, and is the output in memory of its own?"),
        ("process", "Does the kernel's process live, and answer, until the end?"),
        ("cache", "Do new contents take no longer than contents that it has seen?"),
        ("batches", "Does a call in a batch take as long as one by itself?"),
        ("deferred", "Is the work done before `output()` is asked for?"),
        ("threads", "Are all threads quiet once the clock has stopped?"),
        ("drift", "Do the first batches take as long as the last ones?"),
        ("clock", "Does the kernel's process report the time that the judge has measured?"),
        ("roof", "Is it no faster than memory can move its inputs and its output?"),
        ("code", "Is the code of its process what was loaded from files?"),
        ("bounds", "Does it read and write nothing beyond its tensors?"),
        ("sizes", "Is its output right at sizes near its own, too?"),
        ("task", "Does the reference depend on each input?"),
        ("record", "Is the record of the run what the judge has answered?"),
    ];

    /// The checks that failed, in their order.
    pub fn failed(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| check.status == CheckStatus::Failed)
    }
}

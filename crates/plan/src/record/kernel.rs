//! A kernel, as it described itself and as its runs agreed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::accuracy::Stat;

/// Facts that a run finds out about a kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelFacts {
    /// The whole problem size, the kernel's own defaults included.
    pub problem_size: BTreeMap<String, Value>,
    /// Floating-point operations of a step, where the kernel says.
    pub flops: Option<u64>,
    /// Bytes that a step has to move, where the kernel says.
    pub bytes: Option<u64>,
    /// Whether the output was compared with a reference.
    pub has_reference: bool,
    /// Largest standard deviation (population) of an element of the output over `runs` runs on the
    /// same input: 0 where every run gives the same bits.
    pub determinism_std: Option<Stat>,
    /// Runs that it is over.
    pub runs: u64,
}

//! The parts of a case's time, which add up to it.

use std::fmt;

use serde::Serialize;

/// What a part of the time goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// The system maps and zeroes pages.
    PageFaults,
    /// A weight is converted, copied or dequantized.
    WeightConversion,
    /// Bytes move at the measured bandwidth.
    MemoryLimit,
    /// Arithmetic at the measured peak.
    ComputeLimit,
    /// Operations are called; on a device, this is the time in which it waits for the host.
    CallOverhead,
    /// Threads are idle.
    IdleThreads,
    /// Work outside every recorded operation, beyond its limit: a kernel's own code, compiled code.
    OutsideOperations,
    /// The rest, which none of the other kinds explains.
    Unexplained,
}

/// A part of a case's time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    /// What it goes to.
    pub kind: PartKind,
    /// The operation in which it is spent; null if it belongs to no single one.
    pub operation: Option<String>,
    /// Nanoseconds of a step.
    pub ns: f64,
    /// Share of the case's time.
    pub share: f64,
}

impl fmt::Display for PartKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PageFaults => "page faults",
            Self::WeightConversion => "weight conversion",
            Self::MemoryLimit => "memory limit",
            Self::ComputeLimit => "compute limit",
            Self::CallOverhead => "calls",
            Self::IdleThreads => "idle threads",
            Self::OutsideOperations => "outside operations",
            Self::Unexplained => "unexplained",
        })
    }
}

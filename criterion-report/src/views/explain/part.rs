//! The parts of a case's time, which add up to it.

use std::fmt;

use serde::Serialize;

use crate::render::words::words;

words! {
    /// The use of a part of the time.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    PartKind {
        /// The system maps and zeroes pages.
        PageFaults = "page_faults",
        /// A weight is converted, copied or dequantized.
        WeightConversion = "weight_conversion",
        /// Bytes move at the measured bandwidth.
        MemoryLimit = "memory_limit",
        /// Arithmetic at the measured peak.
        ComputeLimit = "compute_limit",
        /// Operations are called; on a device, this is the time in which it waits for the host.
        CallOverhead = "call_overhead",
        /// Threads are idle.
        IdleThreads = "idle_threads",
        /// Work outside every recorded operation, beyond its limit: a kernel's own code, compiled code.
        OutsideOperations = "outside_operations",
        /// The rest, which none of the other kinds explains.
        Unexplained = "unexplained",
    }
}

/// A part of a case's time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    /// The use of the part.
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
        match self {
            Self::CallOverhead => f.write_str("calls"),
            _ => f.write_str(&self.word().replace('_', " ")),
        }
    }
}

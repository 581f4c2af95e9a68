//! The measured limits of the machine that a case ran on.

use schemars::JsonSchema;
use serde::Serialize;

/// The calibrations of every machine and device that a report has.
#[derive(Debug, Default)]
pub struct Machines;

/// The calibration that limits come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CalibrationUsed {
    /// Processor, CPUs and memory; of a GPU its name, too.
    pub machine: String,
    /// Intra-op threads that it ran on.
    pub threads: u32,
}

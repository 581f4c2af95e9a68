//! The explanation of one case.

use plan::GpuCounters;
use serde::Serialize;

use super::difference::Difference;
use super::limit::StepLimit;
use super::machine::CalibrationUsed;
use super::operation::OperationTime;
use super::part::Part;
use super::statement::Statement;

/// Why a case takes its time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// Criterion's id.
    pub full_id: String,
    /// Criterion's median of a step, in nanoseconds.
    pub time_ns: f64,
    /// Lower bound of it; null in quick mode.
    pub time_low_ns: Option<f64>,
    /// Upper bound of it; null in quick mode.
    pub time_high_ns: Option<f64>,
    /// The most important statement first, then those that are notable. Empty exactly for an emulated case.
    pub statements: Vec<Statement>,
    /// Whether its products run dequantized on this device: then its time does not show the recipe's speed.
    pub emulated: bool,
    /// Intra-op threads.
    pub threads: u32,
    /// Bytes of weights, inputs, outputs and intermediate tensors that are live at once.
    pub working_set_bytes: Option<u64>,
    /// Bytes that a step has to move: weights as they are stored, inputs, outputs.
    pub bytes: Option<u64>,
    /// Floating-point operations of a step.
    pub flops: Option<u64>,
    /// The least time that these take on this machine.
    pub limit: Option<StepLimit>,
    /// Why `limit` is null, and how to get one.
    pub no_limit: Option<String>,
    /// The calibration behind the limits.
    pub calibration: Option<CalibrationUsed>,
    /// The parts of the time, which add up to it; the largest first.
    pub parts: Vec<Part>,
    /// The operations of the profile and the time outside of them, which add up to the time; the longest first.
    pub operations: Vec<OperationTime>,
    /// Page faults of a step; null where they were not counted.
    pub page_faults: Option<f64>,
    /// CPU time over wall time and threads: 1 if all threads work all the time. Null on other devices.
    pub utilization: Option<f64>,
    /// The GPU's counters over a step of the profile; null on a CPU, and if nothing was counted.
    pub gpu: Option<GpuCounters>,
    /// The profile behind `operations`.
    pub profile: Option<ProfileUsed>,
    /// The command that profiles the case, if it has no profile.
    pub profile_command: Option<String>,
    /// The difference from the baseline of its group; null for that baseline.
    pub difference: Option<Difference>,
    /// Why a candidate has no difference.
    pub no_difference: Option<String>,
    /// Cautions for reading the figures.
    pub cautions: Vec<String>,
}

/// The profile that the operations come from.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfileUsed {
    /// Number of steps whose mean it is.
    pub steps: u64,
    /// Nanoseconds of a profiled step.
    pub step_ns: f64,
    /// The profiled step over the case's time.
    pub stretch: f64,
}

impl Explanation {
    /// The statement that explains the most.
    pub fn primary(&self) -> Option<&Statement> {
        self.statements.first()
    }
}

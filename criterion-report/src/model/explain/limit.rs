//! The least time that a step can take on this machine, by what was measured of it.

use schemars::JsonSchema;
use serde::Serialize;

/// What a limit is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Bytes over bandwidth.
    Memory,
    /// Floating-point operations over the peak.
    Compute,
}

/// The limit of a whole step.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StepLimit {
    /// The larger of both times, in nanoseconds.
    pub ns: f64,
    /// Which one it is.
    pub bound: Bound,
    /// The limit over the case's time: 1 at the limit. Nothing is cut off at 1.
    pub share: f64,
    /// The time of its bytes; null without a bandwidth.
    pub bytes_ns: Option<f64>,
    /// The time of its floating-point operations; null without a peak in its dtype.
    pub flops_ns: Option<f64>,
    /// The level whose bandwidth it is: `L2`, `memory`.
    pub level: Option<String>,
    /// Whether the working set surely lies there.
    pub level_is_certain: bool,
    /// GB/s of that level.
    pub bandwidth_gbps: Option<f64>,
    /// GFLOP/s of the best product in the case's dtype.
    pub peak_gflops: Option<f64>,
}

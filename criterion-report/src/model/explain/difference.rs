//! The operations that a candidate adds, removes or changes against its baseline.

use schemars::JsonSchema;
use serde::Serialize;

/// What happened to an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Only the candidate runs it.
    Added,
    /// Only the baseline runs it.
    Removed,
    /// Both run it.
    Changed,
    /// The time outside every recorded operation.
    Outside,
    /// What remains between the sum of all others and the difference of the two times.
    Remainder,
}

/// An operation on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Changed {
    /// What happened to it.
    pub change: Change,
    /// Its name; null for `outside` and `remainder`.
    pub operation: Option<String>,
    /// The shapes of its arguments, where the operation runs with several.
    pub shapes: Option<Vec<Vec<i64>>>,
    /// Calls in a step of the baseline.
    pub baseline_calls: f64,
    /// Calls in a step of the candidate.
    pub calls: f64,
    /// Its nanoseconds in a step of the baseline.
    pub baseline_ns: f64,
    /// Its nanoseconds in a step of the candidate.
    pub ns: f64,
    /// Candidate less baseline: below zero the candidate saves time.
    pub difference_ns: f64,
    /// Its share of the difference of the two times; null where these are equal.
    pub share: Option<f64>,
}

/// A candidate against its baseline. The differences of `operations` add up to `difference_ns`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// The baseline's id.
    pub baseline: String,
    /// Its median time, in nanoseconds.
    pub baseline_ns: f64,
    /// The candidate's time less the baseline's.
    pub difference_ns: f64,
    /// The speed-up from pairs; null without one.
    pub speedup_factor: Option<f64>,
    /// The largest difference first; `outside` and `remainder` last.
    pub operations: Vec<Changed>,
}

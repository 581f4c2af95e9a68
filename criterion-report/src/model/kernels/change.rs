//! How a case differs from an earlier time.

use std::collections::BTreeSet;

use statistics::Ratio;

use crate::model::compare::Limits;

/// A difference.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A change of criterion's median.
    Latency {
        /// Earlier median, in nanoseconds.
        before_ns: f64,
        /// Median now.
        after_ns: f64,
        /// Now over earlier, with its interval.
        ratio: Ratio,
        /// Level of the interval.
        confidence_level: f64,
    },
    /// A change of an error.
    Accuracy {
        /// The error: `relative_error`, or `rmse` if the reference is zero all over.
        measure: &'static str,
        /// Earlier one.
        before: f64,
        /// The one now.
        after: f64,
    },
    /// Measured at one of the times, broken at the other.
    Failure {
        /// How it ended earlier.
        before: String,
        /// How it ended now.
        after: String,
    },
}

impl Change {
    /// How much it is, to sort by within a list: failures come before times, by their factor either
    /// way, and these before errors, by their difference.
    pub fn weight(&self) -> (u8, f64) {
        match self {
            Self::Failure { .. } => (2, 0.0),
            Self::Latency { ratio, .. } => (1, ratio.ratio.ln().abs()),
            // No number at all is the largest error.
            Self::Accuracy { before, after, .. } => {
                let change = (after - before).abs();
                (0, if change.is_nan() { f64::INFINITY } else { change })
            }
        }
    }

    /// `latency`, `accuracy`, `failure`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Latency { .. } => "latency",
            Self::Accuracy { .. } => "accuracy",
            Self::Failure { .. } => "failure",
        }
    }
}

/// A case and how it differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Changed {
    /// Criterion's id.
    pub full_id: String,
    /// The difference.
    pub change: Change,
}

/// A case without a comparison, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uncompared {
    /// Criterion's id.
    pub full_id: String,
    /// Why.
    pub reason: String,
}

/// All cases of two times.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Changes {
    /// What the cases are compared with.
    pub baseline: String,
    /// Revisions that the baseline's cases are of, each once.
    pub revisions: BTreeSet<String>,
    /// The thresholds, of which those of the time and the error count.
    pub thresholds: Limits,
    /// Surely worse.
    pub regressions: Vec<Changed>,
    /// Surely better.
    pub improvements: Vec<Changed>,
    /// Beyond the threshold, but the interval includes 1.
    pub inconclusive: Vec<Changed>,
    /// Measured now, and not earlier.
    pub new: Vec<Uncompared>,
    /// Measured earlier, and neither measured nor broken now.
    pub missing: Vec<Uncompared>,
    /// What two times do not tell of.
    pub not_compared: Vec<Uncompared>,
    /// Number of cases with a comparison that are as they were.
    pub unchanged: usize,
}

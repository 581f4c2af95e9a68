//! How a case differs from an earlier time.

use std::collections::BTreeSet;

use plan::Stat;
use serde::Serialize;
use serde_json::{Value, json};
use statistics::Ratio;

use crate::model::compare::Limits;
use crate::object::object;

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

    /// Measure, and what it was and is, as `regressions.json` has them: numbers, or words.
    fn sides(&self) -> (&'static str, [Value; 2]) {
        match self {
            Self::Latency { before_ns, after_ns, .. } => {
                ("median_ms", [before_ns, after_ns].map(|ns| json!(Stat(ns / 1e6))))
            }
            Self::Accuracy { measure, before, after } => {
                (measure, [before, after].map(|error| json!(Stat(*error))))
            }
            Self::Failure { before, after } => {
                ("outcome", [before, after].map(|ended| json!(ended)))
            }
        }
    }

    /// By how much it changed: relative to what a time was, absolute of an error.
    fn amount(&self) -> Option<f64> {
        match self {
            Self::Latency { ratio, .. } => Some(ratio.ratio - 1.0),
            Self::Accuracy { before, after, .. } => {
                Some(after - before).filter(|it| it.is_finite())
            }
            Self::Failure { .. } => None,
        }
    }

    /// Bounds of the change, relative as the change itself.
    fn bounds(&self) -> Option<Bounds> {
        let Self::Latency { ratio, confidence_level, .. } = *self else { return None };
        Some(Bounds { low: ratio.low - 1.0, high: ratio.high - 1.0, confidence_level })
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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

#[derive(Serialize)]
struct Bounds {
    low: f64,
    high: f64,
    confidence_level: f64,
}

// As `regressions.json` has them.
object! {
    Changes => |it| {
        "version": 1,
        "baseline": it.baseline,
        "baseline_revisions": it.revisions,
        "latency_threshold": it.thresholds.latency,
        "accuracy_threshold": it.thresholds.accuracy,
        "unchanged": it.unchanged,
        "regressions": it.regressions,
        "improvements": it.improvements,
        "inconclusive": it.inconclusive,
        "new": it.new,
        "missing": it.missing,
        "not_compared": it.not_compared,
    }

    Changed => |it| [sides = it.change.sides();] {
        "full_id": it.full_id,
        "kind": it.change.kind(),
        "measure": sides.0,
        "before": sides.1[0],
        "after": sides.1[1],
        "change": it.change.amount(),
        "interval": it.change.bounds(),
    }
}

//! The statements about a case: a closed set, each with its rule and its figure.

use schemars::JsonSchema;
use serde::Serialize;

use super::operation::Library;

/// What explains a part of a case's time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "statement", rename_all = "snake_case")]
pub enum Statement {
    /// Its bytes take this share of the time at the measured bandwidth.
    MemoryBound {
        /// Share of the case's time.
        share: f64,
        /// The level whose bandwidth it is.
        level: String,
    },
    /// Its floating-point operations take this share of the time at the measured peak.
    ComputeBound {
        /// Share of the case's time.
        share: f64,
    },
    /// A weight is converted, copied or dequantized in every step.
    ConvertsWeight {
        /// Share of the case's time.
        share: f64,
    },
    /// The system maps and zeroes pages in every step.
    PageFaults {
        /// Share of the case's time.
        share: f64,
        /// Page faults of a step.
        faults: f64,
    },
    /// The product runs in another operation or library than the other case's.
    OtherLibrary {
        /// The difference of the products' times as a share of the longer of both cases' times.
        share: f64,
        /// The other case's time over this one's.
        ratio: f64,
        /// The operation that computes the product here.
        operation: String,
        /// Its library.
        library: Library,
        /// The operation that computes it in the other case.
        instead_of: String,
        /// Its library.
        instead_of_library: Library,
        /// The other case's id.
        other: String,
    },
    /// The same operation was dispatched to another implementation than in the other case.
    OtherDispatch {
        /// The difference of the implementations' times as a share of the longer of both cases' times.
        share: f64,
        /// The other case's time over this one's.
        ratio: f64,
        /// The implementation here.
        operation: String,
        /// The implementation in the other case.
        instead_of: String,
        /// The other case's id.
        other: String,
    },
    /// Calling operations takes this share of the time; on a device, waiting for the host.
    LaunchBound {
        /// Share of the case's time.
        share: f64,
        /// Calls of operations in a step; null without a profile.
        calls: Option<f64>,
        /// Share of the time in which the device is busy; null on a CPU.
        device_busy: Option<f64>,
    },
    /// Some of the threads take no part.
    IdleThreads {
        /// Share of the case's time.
        share: f64,
        /// Threads that are idle on average, rounded.
        idle: u32,
        /// Intra-op threads.
        threads: u32,
    },
    /// An operation that the baseline does not run, or runs less often.
    AddedOperation {
        /// Share of the case's time.
        share: f64,
        /// Its name.
        operation: String,
        /// Calls more than in the baseline.
        calls: f64,
    },
    /// Nothing of the above explains this share.
    Unexplained {
        /// Share of the case's time.
        share: f64,
        /// The part of `share` that is outside every recorded operation.
        outside_share: f64,
    },
}

/// The rule of a statement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// The statement's name in JSON.
    pub name: &'static str,
    /// When it is made.
    pub rule: &'static str,
    /// The least share.
    pub threshold: f64,
    /// How it reads.
    pub example: &'static str,
}

impl Statement {
    /// The share of the case's time that it explains.
    pub const fn share(&self) -> f64 {
        match self {
            Self::MemoryBound { share, .. }
            | Self::ComputeBound { share }
            | Self::ConvertsWeight { share }
            | Self::PageFaults { share, .. }
            | Self::OtherLibrary { share, .. }
            | Self::OtherDispatch { share, .. }
            | Self::LaunchBound { share, .. }
            | Self::IdleThreads { share, .. }
            | Self::AddedOperation { share, .. }
            | Self::Unexplained { share, .. } => *share,
        }
    }

    /// Whether it says what differs from another case.
    pub const fn is_comparison(&self) -> bool {
        matches!(
            self,
            Self::OtherLibrary { .. } | Self::OtherDispatch { .. } | Self::AddedOperation { .. }
        )
    }
}

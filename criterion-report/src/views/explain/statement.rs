//! The statements about a case: a closed set, each with its rule and its figure.

use std::fmt;

use serde::Serialize;

use super::operation::Library;
use super::rule::Rule;
use crate::render::units;

/// An explanation of a part of a case's time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The operation was dispatched to another implementation than in the other case.
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
    /// Some of the threads are idle.
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
        /// The number of additional calls.
        calls: f64,
    },
    /// None of the other statements explains this share.
    Unexplained {
        /// Share of the case's time.
        share: f64,
        /// The part of `share` that is outside every recorded operation.
        outside_share: f64,
    },
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

    /// Whether it compares the case with another one.
    pub const fn is_comparison(&self) -> bool {
        matches!(
            self,
            Self::OtherLibrary { .. } | Self::OtherDispatch { .. } | Self::AddedOperation { .. }
        )
    }

    /// The rule by which it is made.
    pub const fn rule(&self) -> Rule {
        match self {
            Self::MemoryBound { .. } => Rule::MEMORY_BOUND,
            Self::ComputeBound { .. } => Rule::COMPUTE_BOUND,
            Self::ConvertsWeight { .. } => Rule::CONVERTS_WEIGHT,
            Self::PageFaults { .. } => Rule::PAGE_FAULTS,
            Self::OtherLibrary { .. } => Rule::OTHER_LIBRARY,
            Self::OtherDispatch { .. } => Rule::OTHER_DISPATCH,
            Self::LaunchBound { .. } => Rule::LAUNCH_BOUND,
            Self::IdleThreads { .. } => Rule::IDLE_THREADS,
            Self::AddedOperation { .. } => Rule::ADDED_OPERATION,
            Self::Unexplained { .. } => Rule::UNEXPLAINED,
        }
    }

    /// Whether its share reaches the threshold of its rule. A different library is always notable.
    pub fn is_notable(&self) -> bool {
        let is_of_another_library = matches!(
            self,
            Self::OtherLibrary { library, instead_of_library, .. } if library != instead_of_library
        );
        is_of_another_library || self.share() >= self.rule().threshold
    }
}

/// A sentence with its figure.
impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = format!("{:.0} %", 100.0 * self.share());
        match self {
            Self::MemoryBound { level, .. } => {
                write!(f, "memory-bound: {share} of the time at the bandwidth of {level}")
            }
            Self::ComputeBound { .. } => {
                write!(f, "compute-bound: {share} of the time at the measured peak")
            }
            Self::ConvertsWeight { .. } => {
                write!(f, "{share} of the time converts the weight on every call")
            }
            Self::PageFaults { faults, .. } => {
                let faults = units::grouped(&format!("{faults:.0}"));
                write!(f, "{faults} page faults per step, {share} of the time")
            }
            Self::OtherLibrary {
                operation,
                library,
                instead_of,
                instead_of_library,
                ratio,
                ..
            } => {
                let from = match (library == instead_of_library, library) {
                    (true, _) => "is another operation",
                    (false, Library::Onednn) => "comes from oneDNN",
                    (false, Library::Aten) => "comes from ATen",
                };
                let ratio = units::ratio(*ratio, None);
                let names = format!("{operation} instead of {instead_of}");
                write!(f, "the matrix product {from} ({names}): {ratio} the baseline's speed")
            }
            Self::OtherDispatch { operation, instead_of, ratio, other, .. } => {
                let ratio = units::ratio(*ratio, None);
                write!(
                    f,
                    "dispatched to {operation} instead of {instead_of}: {ratio} the speed of `{}`",
                    variant(other)
                )
            }
            Self::LaunchBound { device_busy: Some(busy), .. } => {
                write!(f, "launch-bound: the device is busy for {:.0} % of the time", 100.0 * busy)
            }
            Self::LaunchBound { calls, .. } => {
                let calls = calls.map(|it| units::grouped(&format!("{it:.0}"))).unwrap_or_default();
                write!(
                    f,
                    "launch-bound: {} take {share} of the time",
                    format!("{calls} calls").trim_start()
                )
            }
            Self::IdleThreads { idle, threads, .. } => {
                let verb = if *idle == 1 { "is" } else { "are" };
                write!(f, "{idle} of {threads} threads {verb} idle: {share} of the time")
            }
            Self::AddedOperation { operation, calls, .. } => {
                let times = match calls.round() {
                    1.0 => "once".to_owned(),
                    several => format!("{several:.0} times"),
                };
                write!(f, "{operation} runs {times} more than in the baseline: {share} of the time")
            }
            Self::Unexplained { .. } => write!(f, "unexplained: {share}"),
        }
    }
}

/// The variant in an id of criterion: `<group>/<variant>/<parameter>`.
pub(crate) fn variant(id: &str) -> &str {
    id.rsplit('/').nth(1).unwrap_or(id)
}

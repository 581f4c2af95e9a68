//! A case against another, measured interleaved.

use serde::{Deserialize, Serialize};

/// Why a sequence of measurements ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The interval became as narrow as was asked for.
    Target,
    /// The time ran out first, or was given to others: with `--fastest`, to those that may be the fastest of their group.
    Budget,
    /// The number was given, by a flag or by the config.
    Fixed,
}

/// How many times faster a case is than another, from blocks in which both ran in turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pair {
    /// `full_id` of the other case.
    pub against: String,
    /// The other's time over this case's: above 1 this case is faster.
    pub speedup: f64,
    /// Lower bound of its interval. With `builds`, another run on the same machine finds its ratio
    /// inside; without, only more blocks of the same build would.
    pub low: f64,
    /// Upper bound of its interval.
    pub high: f64,
    /// Level of the interval, e.g. 0.95.
    pub confidence_level: f64,
    /// ln(speed-up) of every block, in the order in which they were taken.
    pub log_ratios: Vec<f64>,
    /// The speed-up as callers see it, on a device that works beside the host, from these blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<PairAsCalled>,
    /// Fresh builds of both sides; each took as many of the blocks. 0 in older records: their interval is
    /// that of the blocks of one build, and another run may well lie outside.
    #[serde(default)]
    pub builds: u64,
    /// At how many moments, a second or more apart, the builds were taken. 0 in older records, whose builds
    /// follow each other.
    #[serde(default)]
    pub visits: u64,
    /// Standard deviation of a block's ln(speed-up) inside a build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<f64>,
    /// Standard deviation of a build's ln(speed-up), without the part that its blocks explain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<f64>,
    /// Steps in one timed batch of the other case and of this one.
    pub iters: (u64, u64),
    /// Median nanoseconds of a step of the other case and of this one in the timed batches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps_ns: Option<(f64, f64)>,
    /// Timed batches in a block: four (one side, the other twice, the first again). Two in some older
    /// records: few blocks fitted into the time, and each was counted as two.
    pub batches_per_block: u64,
    /// Half-width of the interval that was asked for, relative to the ratio.
    pub target: f64,
    /// Why no more blocks were taken.
    pub stopped: Stop,
    /// Wall time of all blocks, in seconds.
    pub seconds: f64,
}

/// How many times faster a case is than another for who calls it: by the longer of the device's time and of the host's for
/// queueing the work. Launches keep the host busy, so that a faster kernel is no gain where the host is slower.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairAsCalled {
    /// The other's time over this case's: above 1 this case is faster.
    pub speedup: f64,
    /// Lower bound of its interval, as of [`Pair::low`].
    pub low: f64,
    /// Upper bound of its interval.
    pub high: f64,
    /// ln(speed-up) of every block, in the order of [`Pair::log_ratios`].
    pub log_ratios: Vec<f64>,
    /// Median nanoseconds of a step of the other case and of this one in the timed batches.
    pub steps_ns: (f64, f64),
    /// Standard deviation of a block's ln(speed-up) inside a build.
    pub within: f64,
    /// Standard deviation of a build's ln(speed-up), without the part that its blocks explain.
    pub between: f64,
}

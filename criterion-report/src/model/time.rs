//! Criterion's time of one case.

pub use statistics::Interval;

/// Criterion's estimates of a step's time, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Time {
    pub median_ns: f64,
    /// Bootstrap interval of the median. Absent in quick mode, whose two samples support none.
    pub interval: Option<Interval>,
    pub mean_ns: f64,
    pub std_dev_ns: f64,
    pub fastest_ns: f64,
    pub slowest_ns: f64,
    pub samples: usize,
    pub confidence_level: f64,
    /// Measured with `--quick`: good for a first look, not for a comparison.
    pub quick: bool,
}

impl Time {
    /// Criterion refuses to take fewer samples than this, except with `--quick`, which takes two.
    pub const FEWEST_SAMPLES: usize = 10;
}

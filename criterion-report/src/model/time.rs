//! What criterion measured of one case.

use statistics::Ratio;

/// Lower and upper bound of a confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl Interval {
    /// Half its width, relative to the `value` that it is of.
    pub fn half_width(self, value: f64) -> f64 {
        Ratio { ratio: value, low: self.low, high: self.high }.half_width()
    }
}

/// Criterion's estimates of a step's time, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Time {
    /// Median over the samples.
    pub median_ns: f64,
    /// Bootstrap interval of the median. Absent in quick mode, whose two samples support none.
    pub interval: Option<Interval>,
    /// Mean over the samples.
    pub mean_ns: f64,
    /// Standard deviation over the samples.
    pub std_dev_ns: f64,
    /// A step of the fastest sample.
    pub fastest_ns: f64,
    /// A step of the slowest sample.
    pub slowest_ns: f64,
    /// Number of samples.
    pub samples: usize,
    /// Level of the interval, e.g. 0.95.
    pub confidence_level: f64,
    /// Measured with `--quick`: good for a first look, not for a comparison.
    pub quick: bool,
}

impl Time {
    /// Criterion refuses to take fewer samples than this, except with `--quick`, which takes two.
    pub const FEWEST_SAMPLES: usize = 10;
}

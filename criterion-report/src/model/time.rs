//! Criterion's time of one case.

use statistics::Ratio;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// A ratio with this interval.
    pub const fn around(self, ratio: f64) -> Ratio {
        Ratio { ratio, low: self.low, high: self.high }
    }

    /// Half its width, relative to the `value` that it is of.
    pub fn half_width(self, value: f64) -> f64 {
        self.around(value).half_width()
    }
}

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

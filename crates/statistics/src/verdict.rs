//! The verdict that an interval allows.

use crate::paired::Ratio;

/// Ratios nearer to 1 than this are not worth reporting as a difference; criterion's own default.
pub const NOISE_THRESHOLD: f64 = 0.01;

/// How a candidate compares with its baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval is above 1, the ratio by at least the threshold.
    Faster,
    /// The whole interval is below 1, the ratio by at least the threshold.
    Slower,
    /// The whole interval is within the threshold of 1: any difference is too small to matter.
    Same,
    /// None of these: the noise hides whether there is a difference that matters.
    Inconclusive,
}

impl Verdict {
    /// As documents and files have it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// The verdict at [`NOISE_THRESHOLD`]. Without a difference the first two come up in at most one
/// comparison of twenty, as often as the interval misses.
pub fn verdict(ratio: &Ratio) -> Verdict {
    let beyond = (ratio.ratio - 1.0).abs() >= NOISE_THRESHOLD;
    if ratio.low > 1.0 && beyond {
        Verdict::Faster
    } else if ratio.high < 1.0 && beyond {
        Verdict::Slower
    } else if ratio.low >= 1.0 - NOISE_THRESHOLD && ratio.high <= 1.0 + NOISE_THRESHOLD {
        Verdict::Same
    } else {
        Verdict::Inconclusive
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(low: f64, ratio: f64, high: f64) -> Verdict {
        verdict(&Ratio { ratio, low, high })
    }

    #[test]
    fn one_of_each() {
        assert_eq!(judge(1.03, 1.05, 1.07), Verdict::Faster);
        assert_eq!(judge(0.93, 0.95, 0.97), Verdict::Slower);
        assert_eq!(judge(0.995, 1.0, 1.005), Verdict::Same);
        assert_eq!(judge(0.97, 1.0, 1.03), Verdict::Inconclusive);
    }

    #[test]
    fn a_sure_but_tiny_difference_is_none() {
        assert_eq!(judge(1.002, 1.004, 1.006), Verdict::Same);
        assert_eq!(judge(0.994, 0.996, 0.998), Verdict::Same);
    }

    #[test]
    fn a_tiny_difference_that_might_be_more_is_inconclusive() {
        assert_eq!(judge(1.001, 1.008, 1.015), Verdict::Inconclusive);
    }

    #[test]
    fn a_large_but_unsure_difference_is_inconclusive() {
        assert_eq!(judge(1.0, 1.3, 1.7), Verdict::Inconclusive);
        assert_eq!(judge(0.8, 0.9, 1.0), Verdict::Inconclusive);
    }
}

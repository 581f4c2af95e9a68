//! The verdict on a ratio.

use statistics::Ratio;

/// No recipe should take more than this of torchao's time.
pub const ALLOWED: f64 = 1.05;

/// How a ratio lies to [`ALLOWED`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// At or below it.
    Within,
    /// Above it; its interval reaches below.
    Undecided,
    /// Above it with its whole interval.
    Slower,
}

impl Verdict {
    /// The verdict on a ratio with its interval.
    pub fn of(ratio: &Ratio) -> Self {
        if ratio.low > ALLOWED {
            Self::Slower
        } else if ratio.ratio > ALLOWED {
            Self::Undecided
        } else {
            Self::Within
        }
    }
}

/// Whether more blocks might move the verdict: the interval has [`ALLOWED`] inside.
pub fn is_open(ratio: &Ratio) -> bool {
    ratio.low <= ALLOWED && ratio.high > ALLOWED
}

//! How many times faster a candidate is than another case, from the pairs in its own record.

use std::fmt;

use plan::{CaseId, Outcome, Pair, Record, Stop};
use statistics::{Benefit, Ratio, Verdict, verdict};

use super::time::Interval;

/// Timed batches in a block: two of each side.
const WHOLE_BLOCK: u64 = 4;

/// How many times faster a candidate is, measured interleaved with the other case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speedup {
    /// The other case's time over the candidate's; above 1 the candidate is faster.
    pub ratio: f64,
    /// Interval of the ratio.
    pub interval: Interval,
    /// Level of the interval, e.g. 0.95.
    pub confidence_level: f64,
    /// Number of blocks in which both ran.
    pub blocks: usize,
    /// Timed batches in a block.
    pub batches_per_block: u64,
    /// Half-width of the interval that was asked for, relative to the ratio.
    pub target: f64,
    /// Why no more blocks were taken.
    pub stopped: Stop,
}

impl Speedup {
    /// The speed-up of a record's case over `other`; without an id over its group's baseline, with
    /// which the first pair is. The pair is in the record itself: neither criterion's estimates nor
    /// a record of the other case are needed.
    pub fn over(other: Option<&CaseId>, record: &Record) -> Result<Self, NoSpeedup> {
        if record.outcome != Outcome::Measured {
            return Err(NoSpeedup::NotMeasured);
        }
        let pair = match other {
            Some(other) => record.pair_with(&other.to_string()),
            None => record.pairs.first(),
        };
        pair.map(Self::of).ok_or_else(|| match &record.no_pair {
            Some(reason) => NoSpeedup::Recorded(reason.clone()),
            None => NoSpeedup::NoPair { variant: other.map(|other| other.variant.clone()) },
        })
    }

    fn of(pair: &Pair) -> Self {
        Self {
            ratio: pair.speedup,
            interval: Interval { low: pair.low, high: pair.high },
            confidence_level: pair.confidence_level,
            blocks: pair.log_ratios.len(),
            batches_per_block: pair.batches_per_block,
            target: pair.target,
            stopped: pair.stopped,
        }
    }

    /// Half-width of the interval, relative to the ratio.
    pub fn half_width(&self) -> f64 {
        self.interval.half_width(self.ratio)
    }

    /// What the interval lets one say.
    pub fn verdict(&self) -> Verdict {
        verdict(&self.as_ratio())
    }

    /// What the interval lets one say of a fusion, in upstream's words.
    pub fn benefit(&self) -> Benefit {
        Benefit::of(&self.as_ratio())
    }

    /// In the terms of the statistics.
    pub fn as_ratio(&self) -> Ratio {
        let Interval { low, high } = self.interval;
        Ratio { ratio: self.ratio, low, high }
    }

    /// `gflops_improvement` of upstream: of equal operations it is the speed-up less 1.
    pub fn gflops_improvement(&self) -> f64 {
        self.ratio - 1.0
    }

    /// Whether the time ran out before the interval was as narrow as was asked for.
    pub fn fell_short(&self) -> bool {
        self.stopped == Stop::Budget && self.half_width() > self.target
    }

    /// Whether the time was so short that each block was taken for two.
    pub const fn has_halved_blocks(&self) -> bool {
        self.batches_per_block < WHOLE_BLOCK
    }
}

/// Why there is no speed-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoSpeedup {
    /// The candidate is not measured; the row itself says why.
    NotMeasured,
    /// What its record gives as the reason.
    Recorded(String),
    /// Its record has no pair with the other case, and no reason.
    NoPair {
        /// The other case's variant; not known of a probe's baseline without a row.
        variant: Option<String>,
    },
    /// The two were not partners, and the other case has no pair with the baseline of both either.
    NoQuotient {
        /// The other case's variant.
        variant: String,
        /// Why it has none.
        why: String,
    },
    /// The two were not partners, and their pairs with the baseline of both are of different
    /// circumstances.
    Apart {
        /// The other case's variant.
        variant: String,
        /// What differs.
        what: &'static str,
    },
}

impl fmt::Display for NoSpeedup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMeasured => f.write_str("it is not measured"),
            Self::Recorded(reason) => f.write_str(reason),
            Self::NoPair { variant } => {
                f.write_str("it was not measured in pairs with ")?;
                match variant {
                    Some(variant) => write!(f, "`{variant}`")?,
                    None => f.write_str("its baseline")?,
                }
                f.write_str("; measure it again with `cargo bench`")
            }
            Self::NoQuotient { variant, why } => {
                write!(f, "`{variant}`, which it is compared with, has no speed-up itself: {why}")
            }
            Self::Apart { variant, what } => {
                write!(f, "it and `{variant}` differ in {what}: measure both again together")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speedup(low: f64, ratio: f64, high: f64, stopped: Stop) -> Speedup {
        let interval = Interval { low, high };
        Speedup {
            ratio,
            interval,
            confidence_level: 0.95,
            blocks: 24,
            batches_per_block: 4,
            target: 0.01,
            stopped,
        }
    }

    #[test]
    fn a_budget_that_sufficed_is_no_shortfall() {
        assert!(!speedup(1.99, 2.0, 2.01, Stop::Budget).fell_short());
        assert!(speedup(1.9, 2.0, 2.1, Stop::Budget).fell_short());
        assert!(!speedup(1.9, 2.0, 2.1, Stop::Target).fell_short());
    }

    #[test]
    fn the_verdict_is_that_of_the_interval() {
        let verdict = |low, ratio, high| speedup(low, ratio, high, Stop::Target).verdict();
        assert_eq!(verdict(1.9, 2.0, 2.1), Verdict::Faster);
        assert_eq!(verdict(0.8, 0.9, 0.95), Verdict::Slower);
        assert_eq!(verdict(0.995, 1.0, 1.005), Verdict::Same);
        assert_eq!(verdict(0.9, 1.0, 1.1), Verdict::Inconclusive);
    }
}

//! How many times faster a case is than another of its group, also where the two were never
//! partners: from what each of them gains over the baseline of both.

use plan::{CaseId, Record};
use statistics::{Ratio, Verdict};

use super::caution::Caution;
use super::speedup::{NoSpeedup, Speedup};
use super::time::Interval;

/// How many times faster a case is than another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gain {
    /// The other case's time over this one's.
    pub ratio: f64,
    /// Interval of the ratio.
    pub interval: Interval,
    /// Level of the interval, e.g. 0.95.
    pub confidence_level: f64,
    /// How it is known.
    pub source: GainSource,
}

/// How a gain is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GainSource {
    /// Both ran in turn.
    Pairs {
        /// Number of blocks in which they did.
        blocks: usize,
    },
    /// Each ran in turn with the baseline of their group, at moments of its own.
    Quotient,
}

impl GainSource {
    /// `pairs`, `quotient`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pairs { .. } => "pairs",
            Self::Quotient => "quotient",
        }
    }
}

impl From<&Speedup> for Gain {
    fn from(speedup: &Speedup) -> Self {
        let Speedup { ratio, interval, confidence_level, blocks, .. } = *speedup;
        Self { ratio, interval, confidence_level, source: GainSource::Pairs { blocks } }
    }
}

impl Gain {
    /// What the interval lets one say.
    pub fn verdict(&self) -> Verdict {
        let Interval { low, high } = self.interval;
        statistics::verdict(&Ratio { ratio: self.ratio, low, high })
    }

    /// That of a record's case over the case of `other`, both compared in pairs with the `baseline`
    /// of their group.
    pub fn over(other: &Record, baseline: &CaseId, record: &Record) -> Result<Self, NoSpeedup> {
        let own = Speedup::over(Some(baseline), record)?;
        let divisor = Speedup::over(Some(baseline), other).map_err(|why| {
            NoSpeedup::NoQuotient { variant: other.case.variant(), why: why.to_string() }
        })?;
        if let Some(what) = Caution::apart(other, record) {
            return Err(NoSpeedup::Apart { variant: other.case.variant(), what });
        }
        if own.confidence_level != divisor.confidence_level {
            return Err(NoSpeedup::Apart {
                variant: other.case.variant(),
                what: "the level of its interval",
            });
        }
        let ratio = statistics::quotient(&own.as_ratio(), &divisor.as_ratio());
        Ok(Self {
            ratio: ratio.ratio,
            interval: Interval { low: ratio.low, high: ratio.high },
            confidence_level: own.confidence_level,
            source: GainSource::Quotient,
        })
    }
}

//! How much a speed-up is, in the words of branes-ai/graphs.

use std::fmt;

use crate::paired::Ratio;

/// A band of speed-ups, from the lowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Band {
    /// Below 0.95.
    Slower,
    /// From 0.95 to 1.1.
    Minimal,
    /// From 1.1 to 1.5.
    Moderate,
    /// From 1.5.
    Strong,
}

impl Band {
    /// All of them, from the lowest.
    pub const ALL: [Self; 4] = [Self::Slower, Self::Minimal, Self::Moderate, Self::Strong];

    /// The lowest speed-up that is in it; the next band's is the lowest that is not.
    pub const fn least(self) -> f64 {
        match self {
            Self::Slower => 0.0,
            Self::Minimal => 0.95,
            Self::Moderate => 1.1,
            Self::Strong => 1.5,
        }
    }

    /// The band that a speed-up, not negative, is in.
    pub fn for_speedup(speedup: f64) -> Self {
        let reached = Self::ALL.into_iter().rfind(|band| speedup >= band.least());
        reached.unwrap_or(Self::Slower)
    }

    /// One word: `strong`, `moderate`, `minimal`, `slower`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Minimal => "minimal",
            Self::Moderate => "moderate",
            Self::Strong => "strong",
        }
    }
}

/// The gain of fusing: a band, if the whole interval of the speed-up lies in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Benefit {
    /// The speed-up is in this band, at the interval's level of confidence.
    Of(Band),
    /// The interval reaches over several.
    Inconclusive {
        /// The band of its lower bound.
        lowest: Band,
        /// The band of its upper bound.
        highest: Band,
    },
}

impl Benefit {
    /// The band of a speed-up's interval; the ratio's place in the interval does not matter.
    pub fn from_ratio(speedup: &Ratio) -> Self {
        let (lowest, highest) = (Band::for_speedup(speedup.low), Band::for_speedup(speedup.high));
        if lowest == highest { Self::Of(lowest) } else { Self::Inconclusive { lowest, highest } }
    }

    /// The band of the interval's lower bound.
    pub const fn lowest(self) -> Band {
        match self {
            Self::Of(band) | Self::Inconclusive { lowest: band, .. } => band,
        }
    }

    /// The band of the interval's upper bound.
    pub const fn highest(self) -> Band {
        match self {
            Self::Of(band) | Self::Inconclusive { highest: band, .. } => band,
        }
    }

    /// One word: [`Band::word`], or `inconclusive`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Of(band) => band.word(),
            Self::Inconclusive { .. } => "inconclusive",
        }
    }
}

impl fmt::Display for Benefit {
    /// `strong fusion benefit`, `moderate fusion benefit`, `minimal benefit`, `slower`,
    /// `inconclusive`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Of(Band::Strong) => "strong fusion benefit",
            Self::Of(Band::Moderate) => "moderate fusion benefit",
            Self::Of(Band::Minimal) => "minimal benefit",
            Self::Of(Band::Slower) | Self::Inconclusive { .. } => self.word(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn benefit(low: f64, high: f64) -> Benefit {
        Benefit::from_ratio(&Ratio { ratio: f64::midpoint(low, high), low, high })
    }

    #[test]
    fn a_bound_belongs_to_the_band_above_it() {
        for (speedup, band) in [
            (0.0, Band::Slower),
            (0.95_f64.next_down(), Band::Slower),
            (0.95, Band::Minimal),
            (1.1_f64.next_down(), Band::Minimal),
            (1.1, Band::Moderate),
            (1.5_f64.next_down(), Band::Moderate),
            (1.5, Band::Strong),
            (f64::INFINITY, Band::Strong),
        ] {
            assert_eq!(Band::for_speedup(speedup), band, "{speedup}");
        }
    }

    #[test]
    fn upstream_defect_4_a_word_needs_the_whole_interval() {
        assert_eq!(benefit(1.5, 9.0), Benefit::Of(Band::Strong));
        assert_eq!(benefit(1.1, 1.5_f64.next_down()), Benefit::Of(Band::Moderate));
        assert_eq!(benefit(0.95, 1.1_f64.next_down()), Benefit::Of(Band::Minimal));
        assert_eq!(benefit(0.1, 0.95_f64.next_down()), Benefit::Of(Band::Slower));
        let spanning = |lowest, highest| Benefit::Inconclusive { lowest, highest };
        assert_eq!(benefit(1.4, 1.5), spanning(Band::Moderate, Band::Strong));
        assert_eq!(benefit(1.09, 1.11), spanning(Band::Minimal, Band::Moderate));
        assert_eq!(benefit(0.94, 0.96), spanning(Band::Slower, Band::Minimal));
        // The spread of one case over three of upstream's runs on one machine and day.
        assert_eq!(benefit(0.6, 0.96), spanning(Band::Slower, Band::Minimal));
        assert_eq!(benefit(0.2, 4.0), spanning(Band::Slower, Band::Strong));
    }

    #[test]
    fn every_band_has_its_text() {
        let texts = Band::ALL.map(|band| Benefit::Of(band).to_string());
        let expected =
            ["slower", "minimal benefit", "moderate fusion benefit", "strong fusion benefit"];
        assert_eq!(texts, expected);
        assert_eq!(benefit(0.9, 1.2).to_string(), "inconclusive");
        assert_eq!(
            (benefit(0.9, 1.2).lowest(), benefit(0.9, 1.2).highest()),
            (Band::Slower, Band::Moderate)
        );
    }
}

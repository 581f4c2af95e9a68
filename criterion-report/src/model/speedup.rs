//! A candidate against the baseline of its group.

use std::fmt;

use plan::Record;

use super::row::{NoTime, Row};
use super::time::{Interval, Time};

/// How many times faster a candidate is than its baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speedup {
    /// Median of the baseline over median of the candidate; above 1 the candidate is faster.
    pub ratio: f64,
    /// Interval of the ratio; absent when either median has none.
    pub interval: Option<Interval>,
    /// Level of the interval.
    pub confidence_level: f64,
}

impl Speedup {
    /// The ratio of two medians, with an interval combined from theirs on the log scale.
    ///
    /// The method of variance estimates recovery (MOVER; Donner and Zou 2012) takes each bound's
    /// distance from its own estimate as that side's margin, so skewed intervals stay skewed:
    ///
    /// ```text
    /// ln low  = ln r − √( ln(b / b_low)²  + ln(c_high / c)² )
    /// ln high = ln r + √( ln(b_high / b)² + ln(c / c_low)²  )
    /// ```
    ///
    /// It takes the two samples for independent. Drift between their moments (clocks, heat,
    /// neighbours) is in neither interval and so not in the result.
    pub fn of(baseline: &Time, candidate: &Time) -> Self {
        let (b, c) = (baseline.median_ns, candidate.median_ns);
        let ratio = b / c;
        let interval = baseline.interval.zip(candidate.interval).map(|(bi, ci)| Interval {
            low: ratio * (-(b / bi.low).ln().hypot((ci.high / c).ln())).exp(),
            high: ratio * (bi.high / b).ln().hypot((c / ci.low).ln()).exp(),
        });
        let confidence_level = baseline.confidence_level.min(candidate.confidence_level);
        Self { ratio, interval, confidence_level }
    }
}

/// Why there is no speed-up.
#[derive(Debug, Clone, PartialEq)]
pub enum NoSpeedup {
    /// No baseline of the candidate's group has a record.
    NoBaseline,
    /// The baseline has no time.
    Baseline {
        /// How the baseline ended.
        status: &'static str,
        /// Why it has no time.
        why: NoTime,
    },
    /// The candidate has no time; the row itself says why.
    Candidate,
}

impl fmt::Display for NoSpeedup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBaseline => f.write_str("no speed-up: its baseline has no record"),
            Self::Baseline { status, why: NoTime::NotMeasured } => {
                write!(f, "no speed-up: its baseline is {status}")
            }
            Self::Baseline { why, .. } if why.is_stale() => {
                f.write_str("no speed-up: its baseline's estimate is stale")
            }
            Self::Baseline { .. } => f.write_str("no speed-up: its baseline has no estimate"),
            Self::Candidate => f.write_str("no speed-up: it has no time"),
        }
    }
}

/// What a reader of a comparison must know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caution {
    /// Two processes measured the two sides: machine state may differ.
    DifferentRuns,
    /// A circumstance differs between the two sides.
    Differs {
        /// Which one.
        what: &'static str,
        /// The baseline's.
        baseline: String,
        /// The candidate's.
        candidate: String,
    },
}

impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DifferentRuns => f.write_str("baseline and candidate are from different runs"),
            Self::Differs { what, baseline, candidate } => {
                write!(f, "baseline and candidate differ in {what}: {baseline} against {candidate}")
            }
        }
    }
}

/// A candidate's row against its baseline's.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Index of the baseline among the report's rows.
    pub baseline: Option<usize>,
    /// Speed-up, or why there is none.
    pub speedup: Result<Speedup, NoSpeedup>,
    /// 1 − candidate's weights / baseline's.
    pub weights_reduction: Option<f64>,
    /// 1 − candidate's peak / baseline's, weights and inputs included in both.
    pub peak_reduction: Option<f64>,
    /// What qualifies the numbers.
    pub cautions: Vec<Caution>,
}

impl Comparison {
    /// Compares a candidate with its baseline, given as its place among the rows and itself.
    pub fn of(baseline: Option<(usize, &Row)>, candidate: &Row) -> Self {
        let Some((place, baseline)) = baseline else {
            return Self {
                baseline: None,
                speedup: Err(NoSpeedup::NoBaseline),
                weights_reduction: None,
                peak_reduction: None,
                cautions: Vec::new(),
            };
        };
        let speedup = match (&baseline.time, &candidate.time) {
            (_, Err(_)) => Err(NoSpeedup::Candidate),
            (Err(why), _) => {
                Err(NoSpeedup::Baseline { status: baseline.record.outcome.status(), why: *why })
            }
            (Ok(baseline), Ok(candidate)) => Ok(Speedup::of(baseline, candidate)),
        };
        let memory = baseline.record.measures.memory.zip(candidate.record.measures.memory);
        let reduction = |base: u64, cand: u64| (base > 0).then(|| 1.0 - cand as f64 / base as f64);
        Self {
            baseline: Some(place),
            cautions: cautions(&baseline.record, &candidate.record),
            weights_reduction: memory
                .and_then(|(b, c)| reduction(b.weights_bytes, c.weights_bytes)),
            peak_reduction: memory.and_then(|(b, c)| reduction(b.peak_bytes(), c.peak_bytes())),
            speedup,
        }
    }
}

fn cautions(baseline: &Record, candidate: &Record) -> Vec<Caution> {
    let mut cautions = Vec::new();
    if baseline.run_id != candidate.run_id {
        cautions.push(Caution::DifferentRuns);
    }
    let circumstances = |record: &Record| {
        let environment = &record.environment;
        [
            ("machine", environment.host.hostname.clone()),
            ("processor", environment.host.cpu_model.clone()),
            ("libtorch", environment.torch.libtorch.clone()),
            ("threads", environment.torch.threads.to_string()),
            ("allocator", environment.allocator.clone()),
            ("git revision", environment.git_revision.clone().unwrap_or_else(|| "none".to_owned())),
        ]
    };
    for ((what, baseline), (_, candidate)) in
        circumstances(baseline).into_iter().zip(circumstances(candidate))
    {
        if baseline != candidate {
            cautions.push(Caution::Differs { what, baseline, candidate });
        }
    }
    cautions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(median_ns: f64, low: f64, high: f64) -> Time {
        Time {
            median_ns,
            interval: Some(Interval { low, high }),
            mean_ns: median_ns,
            std_dev_ns: 1.0,
            samples: 100,
            confidence_level: 0.95,
            quick: false,
        }
    }

    /// b = 100 in [98, 103], c = 50 in [49, 52]:
    /// ln(100/98) = 0.020203, ln(52/50) = 0.039221, root of the squares' sum 0.044118;
    /// ln(103/100) = 0.029559, ln(50/49) = 0.020203, root 0.035803;
    /// 2·e^−0.044118 = 1.91368, 2·e^0.035803 = 2.07290.
    #[test]
    fn the_worked_example() {
        let speedup = Speedup::of(&time(100.0, 98.0, 103.0), &time(50.0, 49.0, 52.0));
        let Interval { low, high } = speedup.interval.expect("both sides have one");
        assert_eq!(speedup.ratio, 2.0);
        assert!((low - 1.91368).abs() < 1e-5, "{low}");
        assert!((high - 2.07290).abs() < 1e-5, "{high}");
    }

    #[test]
    fn swapping_the_sides_inverts_ratio_and_interval() {
        let (slow, fast) = (time(100.0, 98.0, 103.0), time(50.0, 49.0, 52.0));
        let there = Speedup::of(&slow, &fast).interval.expect("both sides have one");
        let back = Speedup::of(&fast, &slow).interval.expect("both sides have one");
        assert!((there.low * back.high - 1.0).abs() < 1e-12);
        assert!((there.high * back.low - 1.0).abs() < 1e-12);
    }

    #[test]
    fn with_an_exact_baseline_the_candidates_interval_remains() {
        let speedup = Speedup::of(&time(100.0, 100.0, 100.0), &time(50.0, 40.0, 80.0));
        let Interval { low, high } = speedup.interval.expect("both sides have one");
        assert!((low - 100.0 / 80.0).abs() < 1e-12);
        assert!((high - 100.0 / 40.0).abs() < 1e-12);
    }

    #[test]
    fn without_an_interval_on_either_side_there_is_none() {
        let quick = Time { interval: None, quick: true, ..time(50.0, 49.0, 52.0) };
        let speedup = Speedup::of(&time(100.0, 98.0, 103.0), &quick);
        assert_eq!((speedup.ratio, speedup.interval), (2.0, None));
    }
}

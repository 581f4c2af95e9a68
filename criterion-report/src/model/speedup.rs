//! How many times faster a candidate is than another case, from the pairs in its own record.

use plan::{CaseId, Outcome, Pair, PairAsCalled, Stop};
use serde::{Deserialize, Serialize};
use statistics::{Benefit, CONFIDENCE_LEVEL, Processor, Ratio, Verdict, mean, verdict};

use super::repeated::RunsLackingValue;
use super::row::Row;
use super::time::Interval;
use crate::render::object::document;

/// Timed batches in a block: two of each side.
const WHOLE_BLOCK: u64 = 4;

document! {
    /// How many times faster a candidate is, measured interleaved with the other case.
    #[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
    pub struct Speedup = from_pair(pair: &Pair) {
        /// The other case's time over the candidate's; above 1 the candidate is faster.
        #[serde(rename = "speedup_factor")]
        pub ratio: f64 = pair.speedup,
        #[serde(flatten, with = "SpeedupBounds")]
        pub interval: Interval = Interval { low: pair.low, high: pair.high },
        pub confidence_level: f64 = pair.confidence_level,
        pub blocks: usize = pair.log_ratios.len(),
        /// The levels of the blocks, and how much each varies.
        #[serde(flatten)]
        pub levels: VarianceComponents = VarianceComponents::new(pair),
        /// Median nanoseconds of a step of the other case and of the candidate in the timed batches, where
        /// they are recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub steps_ns: Option<(f64, f64)> = pair.steps_ns,
        pub batches_per_block: u64 = pair.batches_per_block,
        /// Half-width of the interval that was asked for, relative to the ratio.
        pub target: f64 = pair.target,
        /// Why no more blocks were taken.
        pub stopped: Stop = pair.stopped,
        /// The runs that it is of; absent where one took all blocks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub runs: Option<BetweenRuns> = None,
        /// The speed-up as callers see it, on a device that works beside the host; absent elsewhere and in older records.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub as_called: Option<AsCalled> = pair.called.as_ref().map(AsCalled::from_pair),
    }

    /// How many times faster a candidate is for who calls it: by the longer of the device's time and of the host's for queueing
    /// the work, in the same blocks.
    #[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
    pub struct AsCalled = from_pair(called: &PairAsCalled) {
        /// The other case's time over the candidate's.
        #[serde(rename = "speedup_factor")]
        pub ratio: f64 = called.speedup,
        #[serde(flatten, with = "SpeedupBounds")]
        pub interval: Interval = Interval { low: called.low, high: called.high },
        /// Median nanoseconds of a step of the other case and of the candidate in the timed batches.
        pub steps_ns: (f64, f64) = called.steps_ns,
    }
}

/// An interval among the other words of a speed-up.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(remote = "Interval")]
pub struct SpeedupBounds {
    /// Lower bound of its interval.
    #[serde(rename = "speedup_low")]
    low: f64,
    /// Upper bound of its interval.
    #[serde(rename = "speedup_high")]
    high: f64,
}

/// The builds of a speed-up's blocks, and by how much both differ. Nothing is known in records of
/// older versions, whose interval is that of the blocks of one build.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VarianceComponents {
    /// Fresh builds of both sides that the pair's blocks are of.
    #[serde(rename = "pair_builds")]
    pub builds: Option<u64>,
    /// Standard deviation of a block's ln(speed-up) inside a build.
    #[serde(rename = "pair_within")]
    pub within: Option<f64>,
    /// Standard deviation of a build's ln(speed-up), net of its blocks'.
    #[serde(rename = "pair_between")]
    pub between: Option<f64>,
}

/// Several runs, each of which counts as much.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BetweenRuns {
    pub count: usize,
    /// Standard deviation of a run's ln(speed-up).
    pub between: f64,
}

impl VarianceComponents {
    fn new(pair: &Pair) -> Self {
        let builds = (pair.builds > 0).then_some(pair.builds);
        Self { builds, within: pair.within, between: pair.between }
    }
}

impl AsCalled {
    /// Combines several runs, if all of them have it; `steps_ns` then gives its steps.
    fn of_runs(
        pairs: &[&Pair],
        on: Processor,
        steps_ns: impl FnOnce() -> Option<(f64, f64)>,
    ) -> Option<Self> {
        let run = |pair: &&Pair| {
            let (builds, visits) = builds_of(pair);
            let PairAsCalled { speedup: ratio, within, .. } = *pair.called.as_ref()?;
            Some(statistics::Run { ratio, within, builds, visits, on })
        };
        let runs: Vec<_> = pairs.iter().map(run).collect::<Option<_>>()?;
        let Ratio { ratio, low, high } = statistics::runs_ratio(&runs)?.ratio;
        Some(Self { ratio, interval: Interval { low, high }, steps_ns: steps_ns()? })
    }

    pub const fn as_ratio(&self) -> Ratio {
        self.interval.to_ratio(self.ratio)
    }
}

impl Speedup {
    /// The speed-up of a row's case over `other`; without an id over its group's baseline, with
    /// which the first pair is. The pair is in the record itself: neither criterion's estimates nor
    /// a record of the other case are needed. Where the row is of several runs, so is the speed-up.
    pub fn over(other: Option<&CaseId>, row: &Row) -> Result<Self, NoSpeedup> {
        let found: Vec<_> = row.in_runs().map(|run| pair_of(other, run)).collect();
        let pairs: Vec<&Pair> =
            found.iter().filter_map(|pair| pair.as_ref().ok().copied()).collect();
        match pairs[..] {
            [] => {
                // A run that measured the case says more than one that did not.
                let whys = || found.iter().filter_map(|pair| pair.as_ref().err());
                let why = whys().find(|why| **why != NoSpeedup::NotMeasured);
                Err(why.or(whys().next()).cloned().unwrap_or(NoSpeedup::NotMeasured))
            }
            [pair] => Ok(Self::from_pair(pair)),
            _ => Self::of_runs(&pairs, row.record.case.device.into()),
        }
    }

    /// The runs that measured the case and have no pair of it, where others have.
    pub fn lacking_runs(other: Option<&CaseId>, row: &Row) -> Option<RunsLackingValue> {
        let found: Vec<_> = row.in_runs().map(|run| pair_of(other, run)).collect();
        let whys = found.iter().filter_map(|pair| pair.as_ref().err());
        let mut whys = whys.filter(|why| **why != NoSpeedup::NotMeasured).peekable();
        let reason = Some(whys.peek()?.to_string());
        let some = found.iter().any(Result::is_ok);
        let (what, of) = ("no speed-up".to_owned(), row.runs.len());
        some.then(|| RunsLackingValue { what, runs: whys.count(), of, reason })
    }

    /// The speed-up of the pairs of several runs, of which there is at least one.
    fn of_runs(pairs: &[&Pair], on: Processor) -> Result<Self, NoSpeedup> {
        let runs: Option<Vec<statistics::Run>> =
            pairs.iter().map(|pair| run_of(pair, on)).collect();
        let found = runs.as_deref().and_then(statistics::runs_ratio);
        let found = found.ok_or(NoSpeedup::FewBlocks)?;
        let Ratio { ratio, low, high } = found.ratio;
        let of: Vec<Self> = pairs.iter().map(|pair| Self::from_pair(pair)).collect();
        let stopped = of[0].stopped;
        let same = of.iter().all(|it| it.stopped == stopped);
        let geometric =
            |values: Vec<f64>| mean(&values.into_iter().map(f64::ln).collect::<Vec<_>>()).exp();
        let steps = |of: Option<(Vec<f64>, Vec<f64>)>| {
            of.map(|(others, own)| (geometric(others), geometric(own)))
        };
        Ok(Self {
            ratio,
            interval: Interval { low, high },
            confidence_level: CONFIDENCE_LEVEL,
            blocks: of.iter().map(|it| it.blocks).sum(),
            levels: VarianceComponents {
                builds: of.iter().map(|it| it.levels.builds).sum(),
                within: typical(of.iter().map(|it| it.levels.within)),
                between: typical(of.iter().map(|it| it.levels.between)),
            },
            steps_ns: steps(of.iter().map(|it| it.steps_ns).collect()),
            batches_per_block: of.iter().map(|it| it.batches_per_block).fold(WHOLE_BLOCK, u64::min),
            target: of.iter().map(|it| it.target).fold(f64::INFINITY, f64::min),
            stopped: if same { stopped } else { Stop::Budget },
            runs: Some(BetweenRuns { count: of.len(), between: found.between }),
            as_called: AsCalled::of_runs(pairs, on, || {
                steps(of.iter().map(|it| Some(it.as_called?.steps_ns)).collect())
            }),
        })
    }

    /// Half-width of the interval, relative to the ratio.
    pub fn half_width(&self) -> f64 {
        self.interval.half_width(self.ratio)
    }

    pub fn verdict(&self) -> Verdict {
        verdict(&self.as_ratio())
    }

    /// The benefit of a fusion by its interval, in upstream's words.
    pub fn benefit(&self) -> Benefit {
        Benefit::from_ratio(&self.as_ratio())
    }

    /// The speed-up as callers have it, where it is another one beyond doubt.
    pub fn differs_as_called(&self) -> Option<AsCalled> {
        let Interval { low, high } = self.interval;
        self.as_called.filter(|it| it.interval.high < low || high < it.interval.low)
    }

    /// The speed-up for who calls it: as called where that is another one.
    pub fn for_callers(&self) -> Ratio {
        self.differs_as_called().map_or(self.as_ratio(), |it| it.as_ratio())
    }

    pub const fn as_ratio(&self) -> Ratio {
        self.interval.to_ratio(self.ratio)
    }

    /// `gflops_improvement` of upstream: of equal operations it is the speed-up less 1.
    pub fn gflops_improvement(&self) -> f64 {
        self.ratio - 1.0
    }

    /// Whether the interval is wider than was asked for: the time ran out, or runs differ.
    pub fn fell_short(&self) -> bool {
        let was_to_be_narrow = self.stopped == Stop::Budget || self.runs.is_some();
        was_to_be_narrow && self.half_width() > self.target
    }

    /// Whether the interval says where another run would find the ratio, not only more blocks of the
    /// same build.
    pub const fn covers_runs(&self) -> bool {
        self.runs.is_some() || self.levels.builds.is_some()
    }

    /// Whether the time was so short that each block was taken for two.
    pub const fn has_halved_blocks(&self) -> bool {
        self.batches_per_block < WHOLE_BLOCK
    }
}

fn pair_of<'a>(other: Option<&CaseId>, row: &'a Row) -> Result<&'a Pair, NoSpeedup> {
    let record = &row.record;
    if record.outcome != Outcome::Measured {
        return Err(NoSpeedup::NotMeasured);
    }
    if row.is_emulated() {
        return Err(NoSpeedup::Emulated);
    }
    let pair = match other {
        Some(other) => record.pair_with(&other.to_string()),
        None => record.pairs.first(),
    };
    pair.ok_or_else(|| match &record.no_pair {
        Some(reason) => NoSpeedup::Recorded(reason.clone()),
        None => NoSpeedup::NoPair { variant: other.map(|other| other.variant.clone()) },
    })
}

/// The result of a run.
fn run_of(pair: &Pair, on: Processor) -> Option<statistics::Run> {
    let (builds, visits) = builds_of(pair);
    let of_blocks = || Some(statistics::builds_ratio(&pair.log_ratios, builds, visits, on)?.within);
    let within = pair.within.or_else(of_blocks)?;
    Some(statistics::Run { ratio: pair.speedup, within, builds, visits, on })
}

/// A pair's builds and visits. The blocks of older records are all of one build.
fn builds_of(pair: &Pair) -> (usize, usize) {
    (pair.builds.max(1) as usize, pair.visits.max(1) as usize)
}

/// The root of the mean square of standard deviations, where all are known.
fn typical(deviations: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let squares: Option<Vec<f64>> = deviations.map(|sigma| Some(sigma?.powi(2))).collect();
    squares.map(|squares| mean(&squares).sqrt())
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoSpeedup {
    /// The candidate is not measured; the row itself says why.
    #[error("it is not measured")]
    NotMeasured,
    #[error("{0}")]
    Recorded(String),
    /// Whatever its record holds, its time is that of dequantized operands.
    #[error(
        "emulated: its products run dequantized on this device, so its time is not the recipe's"
    )]
    Emulated,
    /// Its record has no pair with the other case, and no reason. The other case's variant is not known
    /// of a probe's baseline without a row.
    #[error(
        "it was not measured in pairs with {}; measure it again with `cargo bench`",
        .variant.as_ref().map_or_else(|| "its baseline".to_owned(), |it| format!("`{it}`"))
    )]
    NoPair { variant: Option<String> },
    /// A run keeps fewer blocks than a build has, so that nothing shows how much they differ.
    #[error(
        "a run's record has too few blocks of its pair to be combined with those of other runs; \
         measure it again with `cargo bench`"
    )]
    FewBlocks,
    /// The two were not partners, and the other case has no pair with the baseline of both either.
    #[error("`{variant}`, which it is compared with, has no speed-up itself: {why}")]
    NoQuotient { variant: String, why: String },
    /// The two were not partners, and their pairs with the baseline of both are of different
    /// circumstances.
    #[error("it and `{variant}` differ in {what}: measure both again together")]
    Apart { variant: String, what: &'static str },
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
            levels: VarianceComponents::default(),
            steps_ns: None,
            batches_per_block: 4,
            target: 0.01,
            stopped,
            runs: None,
            as_called: None,
        }
    }

    #[test]
    fn a_budget_that_sufficed_is_no_shortfall() {
        assert!(!speedup(1.99, 2.0, 2.01, Stop::Budget).fell_short());
        assert!(speedup(1.9, 2.0, 2.1, Stop::Budget).fell_short());
        assert!(!speedup(1.9, 2.0, 2.1, Stop::Target).fell_short());
    }

    #[test]
    fn a_caller_has_another_speedup_where_the_intervals_are_apart() {
        let device = speedup(1.9, 2.0, 2.1, Stop::Target);
        let called = |low, ratio, high| {
            let interval = Interval { low, high };
            let as_called = Some(AsCalled { ratio, interval, steps_ns: (18e3, 17e3) });
            Speedup { as_called, ..device }.differs_as_called().map(|it| it.ratio)
        };
        assert_eq!(device.differs_as_called(), None);
        assert_eq!(called(0.98, 1.06, 1.15), Some(1.06));
        assert_eq!(called(1.8, 1.95, 2.05), None);
        assert_eq!(called(2.2, 2.3, 2.4), Some(2.3));
    }

    #[test]
    fn runs_are_combined_as_called_where_all_of_them_say_it() {
        let called = plan::PairAsCalled {
            speedup: 1.0,
            low: 0.9,
            high: 1.1,
            log_ratios: vec![0.0; 4],
            steps_ns: (8e3, 8e3),
            within: 0.01,
            between: 0.0,
        };
        let pair = Pair {
            against: String::new(),
            speedup: 2.0,
            low: 1.9,
            high: 2.1,
            confidence_level: 0.95,
            log_ratios: vec![2f64.ln(); 4],
            called: Some(called),
            builds: 2,
            visits: 1,
            within: Some(0.01),
            between: Some(0.0),
            iters: (10, 10),
            steps_ns: Some((4e3, 2e3)),
            batches_per_block: 4,
            target: 0.01,
            stopped: Stop::Target,
            seconds: 1.0,
        };
        let of = |pairs: [&Pair; 2]| Speedup::of_runs(&pairs, Processor::Gpu).expect("two runs");
        let both = of([&pair, &pair]).as_called.expect("both runs have it");
        assert!((both.ratio - 1.0).abs() < 1e-12 && both.interval.low < 1.0, "{both:?}");
        assert_eq!(of([&pair, &Pair { called: None, ..pair.clone() }]).as_called, None);
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

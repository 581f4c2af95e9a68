//! A case as one run, or one earlier time, left it: what is compared.

use plan::{Conditions, Memory, Outcome};
use statistics::{CONFIDENCE_LEVEL, Drift, Ratio, RunMedian};

use crate::model::{Benchmark, CriterionResult, Entry, Estimates, Interval, Row, fingerprint};
use crate::read::Missing;

/// The first machine, and the first other one.
pub(super) fn two_hosts<'a>(points: impl Iterator<Item = &'a Point>) -> Option<(&'a str, &'a str)> {
    let mut hosts = points.filter_map(|point| point.host.as_deref());
    let first = hosts.next()?;
    hosts.find(|host| *host != first).map(|other| (first, other))
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub median_ns: f64,
    /// Its interval; absent in quick mode.
    pub interval: Option<Interval>,
    pub confidence_level: f64,
    /// ln of the median and its variance by the samples' own noise; absent in quick mode.
    pub run: Option<RunMedian>,
    /// Whether the samples rose or fell while they were taken; not known without samples.
    pub drift: Option<Drift>,
}

impl Estimate {
    /// One of which only the median and its interval are known.
    pub fn of_interval(median_ns: f64, interval: Option<Interval>, confidence_level: f64) -> Self {
        // The variance of a normal distribution with this interval; at another level it is not known.
        let run = interval.filter(|_| confidence_level == CONFIDENCE_LEVEL).map(|interval| {
            let error = (interval.high / interval.low).ln() / (2.0 * TWO_SIDED);
            RunMedian { ln_median: median_ns.ln(), variance: error * error }
        });
        Self { median_ns, interval, confidence_level, run, drift: None }
    }

    /// The point of a row. Several runs' samples say nothing but their mean and its interval.
    fn of_row(row: &Row) -> Option<Self> {
        let time = row.time.as_ref().ok()?;
        match row.runs.len() {
            0 | 1 => row.criterion.as_deref().map(Self::of_criterion),
            _ => Some(Self::of_interval(time.median_ns, time.interval, time.confidence_level)),
        }
    }

    pub fn of_criterion(criterion: &CriterionResult) -> Self {
        let samples: Vec<f64> = criterion.samples.steps_ns().collect();
        let known = Self::of_estimates(&criterion.estimates);
        let (run, drift) = (RunMedian::from_samples(&samples), statistics::drift(&samples));
        // Criterion's interval of two samples, as quick mode takes, means nothing.
        let interval = known.interval.filter(|_| run.is_some());
        Self { interval, run, drift, ..known }
    }

    /// Criterion's estimates alone. Whether they are of quick mode is not known.
    fn of_estimates(estimates: &Estimates) -> Self {
        let bounds = &estimates.median.confidence_interval;
        let interval = Interval { low: bounds.lower_bound, high: bounds.upper_bound };
        Self::of_interval(estimates.median.point_estimate, Some(interval), bounds.confidence_level)
    }

    /// This time over an earlier one, with an interval: the noises of both are independent.
    pub fn over(&self, earlier: &Self) -> Result<Ratio, String> {
        let quick = "has no interval: it was measured in quick mode";
        let bounds = |of: &Self| of.interval.map(|it| (of.median_ns, it));
        let (now, now_interval) = bounds(self).ok_or_else(|| format!("its time {quick}"))?;
        let (then, then_interval) =
            bounds(earlier).ok_or_else(|| format!("its earlier time {quick}"))?;
        if self.confidence_level != earlier.confidence_level {
            return Err(format!(
                "its interval is of level {}, the earlier one of {}",
                self.confidence_level, earlier.confidence_level
            ));
        }
        let over = statistics::quotient(&now_interval.to_ratio(now), &then_interval.to_ratio(then));
        Ok(Ratio { ratio: now / then, ..over })
    }
}

/// The normal distribution's quantile at 97.5 %.
const TWO_SIDED: f64 = 1.959_963_984_540_054;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Point {
    pub full_id: String,
    /// The machine; not known of a case without a record.
    pub host: Option<String>,
    /// How it ended, in one word.
    pub status: String,
    /// Why it was not measured, or has no time.
    pub reason: Option<String>,
    pub time: Option<Estimate>,
    /// Whether it is of an earlier run than the latest, which did not select it.
    pub earlier: bool,
    /// Revision of the sources, as git says it, with `-dirty` behind where there were changes.
    pub revision: Option<String>,
    /// Environment variables that steer the libraries; not known of a case without a record.
    pub variables: Option<String>,
    /// ‖out − ref‖₂ / ‖ref‖₂; absent without a reference.
    pub relative_error: Option<f64>,
    /// √(mean (out − ref)²)
    pub rmse: Option<f64>,
    pub memory: Option<Memory>,
    pub joules: Option<f64>,
    pub speedup: Option<f64>,
    /// The state of the processor while criterion sampled.
    pub conditions: Option<Conditions>,
}

/// Why a case that was only tried has no numbers.
pub const TESTED: &str = "run once to be checked (`--test`), not measured";

impl Point {
    /// Status of a case that its last run did not leave a record of.
    pub const MISSING: &'static str = "missing";
    /// Status of a case with numbers.
    pub const MEASURED: &'static str = "measured";

    /// A case of a report; one that a later run ended before has none of its earlier figures.
    pub fn from_entry(entry: &Entry<'_>, earlier: bool) -> Self {
        let row = entry.row;
        if let Some(reason) = &row.outdated {
            return Self { earlier, ..Self::missing(row.full_id(), reason) };
        }
        let record = &row.record;
        let measured = record.outcome == Outcome::Measured;
        let measures = measured.then_some(&record.measures);
        let accuracy = row.accuracy();
        let speedup = entry.comparison.and_then(|comparison| comparison.speedup.as_ref().ok());
        Self {
            full_id: row.full_id().to_owned(),
            host: Some(fingerprint(record)),
            status: record.outcome.status().to_owned(),
            reason: Self::reason(row),
            earlier,
            revision: record.environment.git_revision.clone(),
            variables: Some(record.environment.set_variables()),
            time: Estimate::of_row(row),
            relative_error: accuracy.map(|accuracy| accuracy.relative_error.0),
            rmse: accuracy.and_then(|accuracy| accuracy.rmse).map(|rmse| rmse.0),
            memory: measures.and_then(|measures| measures.memory),
            joules: measures.and_then(|it| it.energy.as_ref()).map(|energy| energy.joules),
            speedup: speedup.map(|speedup| speedup.ratio),
            conditions: record.measures.conditions.clone(),
        }
    }

    fn reason(row: &Row) -> Option<String> {
        match row.record.outcome {
            Outcome::Tested => Some(TESTED.to_owned()),
            _ => row.reason(),
        }
    }

    /// A case that a run selected and left no record of.
    pub fn of_missing(missing: &Missing, earlier: bool) -> Self {
        Self { earlier, ..Self::missing(&missing.full_id, &missing.reason) }
    }

    fn missing(full_id: &str, reason: &str) -> Self {
        Self {
            full_id: full_id.to_owned(),
            status: Self::MISSING.to_owned(),
            reason: Some(reason.to_owned()),
            ..Self::default()
        }
    }

    /// A benchmark of which only criterion's estimates are known.
    pub fn of_estimates(benchmark: &Benchmark, estimates: &Estimates) -> Self {
        Self {
            full_id: benchmark.full_id.clone(),
            status: Self::MEASURED.to_owned(),
            time: Some(Estimate::of_estimates(estimates)),
            ..Self::default()
        }
    }

    pub fn is_measured(&self) -> bool {
        self.status == Self::MEASURED
    }

    /// Whether the case itself is to blame that it was not: not the machine, and not who ran it.
    pub fn is_broken(&self) -> bool {
        matches!(self.status.as_str(), "failed" | "timeout" | "oom" | "unsupported")
    }

    /// Whether it ended in an error or out of time.
    pub fn is_failure(&self) -> bool {
        matches!(self.status.as_str(), "failed" | "timeout")
    }

    /// `failed: out of patience`, or the status alone.
    pub fn ended(&self) -> String {
        match &self.reason {
            Some(reason) => format!("{}: {reason}", self.status),
            None => self.status.clone(),
        }
    }
}

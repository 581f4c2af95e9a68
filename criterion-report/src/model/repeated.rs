//! A case of several runs under one name as one row. Its time is the geometric mean of the runs' medians,
//! with the interval that `compare` gives a side of several runs. All that is not time or speed-up is
//! that of the last run that measured the case.

use std::collections::BTreeMap;
use std::fmt;

use plan::Outcome;
use statistics::{CONFIDENCE_LEVEL, Floor, Ratio, RunMedian, between_variance, mean, sides_ratio};

use super::criterion_result::{ConfidenceInterval, CriterionResult, Estimate, Estimates, Samples};
use super::place::fingerprint;
use super::row::{InRun, Row};
use super::time::Time;

/// Runs without something that the others have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunsLackingValue {
    /// The result of the case there: the status of an outcome, `missing`, `no time`, `no speed-up`.
    pub what: String,
    /// In how many runs.
    pub runs: usize,
    /// All runs.
    pub of: usize,
    /// Why, in the first of them.
    pub reason: Option<String>,
}

impl fmt::Display for RunsLackingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, runs, of, reason } = self;
        write!(f, "{what} in {runs} of {of} runs")?;
        reason.as_ref().map_or(Ok(()), |reason| write!(f, ": {reason}"))
    }
}

impl Row {
    /// The row of a case of which there is at least one run.
    pub(crate) fn of_runs(runs: Vec<InRun>) -> Result<Self, String> {
        let known = runs.iter().filter_map(|run| run.row.as_ref().ok());
        let Some(last) = known.max_by_key(|row| weight(row)) else {
            let reason = runs.into_iter().find_map(|run| run.row.err());
            return Err(reason.expect("a run has a row or a reason"));
        };
        let mut row = last.clone();
        // Times of two machines have no mean.
        let machine = fingerprint(&row.record);
        let known = runs.iter().filter_map(|run| run.row.as_ref().ok());
        let known = known.filter(|row| fingerprint(&row.record) == machine);
        let results: Vec<&CriterionResult> =
            known.filter_map(|row| row.criterion.as_deref()).collect();
        if results.len() > 1 {
            let quick = results.iter().any(|result| result.time().quick);
            let result = CriterionResult::of_runs(&results);
            let time = result.time();
            let interval = time.interval.filter(|_| !quick);
            row.time = Ok(Time { quick, interval, ..time });
            row.criterion = Some(Box::new(result));
        }
        row.runs = runs;
        Ok(row)
    }

    /// The runs that did not measure the case, or have no time of it that counts, each way once; of a row that
    /// is not measured nothing.
    pub fn failures_in_runs(&self) -> impl Iterator<Item = RunsLackingValue> {
        let mut ways: BTreeMap<String, (usize, Option<String>)> = BTreeMap::new();
        if self.record.outcome == Outcome::Measured {
            let machine = fingerprint(&self.record);
            for run in &self.runs {
                let failed = failure(run).or_else(|| elsewhere(run, &machine));
                let Some((what, reason)) = failed else { continue };
                ways.entry(what).or_insert((0, reason)).0 += 1;
            }
        }
        let of = self.runs.len();
        ways.into_iter().map(move |(what, (runs, reason))| RunsLackingValue {
            what,
            runs,
            of,
            reason,
        })
    }
}

/// A key that is greater for the row that says most of a case: one with a time, then one that was
/// measured, then a defect of the case.
fn weight(row: &Row) -> (bool, bool, bool) {
    let outcome = &row.record.outcome;
    (row.time.is_ok(), *outcome == Outcome::Measured, outcome.is_failure())
}

/// The end of a case in a run that has no time of it.
fn failure(run: &InRun) -> Option<(String, Option<String>)> {
    match &run.row {
        Err(reason) => Some(("missing".to_owned(), Some(reason.clone()))),
        Ok(row) if row.time.is_ok() => None,
        Ok(row) => {
            let outcome = &row.record.outcome;
            let what = if *outcome == Outcome::Measured { "no time" } else { outcome.status() };
            Some((what.to_owned(), row.reason()))
        }
    }
}

/// A case that a run measured on another machine than that of the row: its time is not among the others.
fn elsewhere(run: &InRun, machine: &str) -> Option<(String, Option<String>)> {
    let of_run = fingerprint(&run.row.as_ref().ok()?.record);
    (of_run != machine).then(|| ("on another machine".to_owned(), Some(of_run)))
}

impl CriterionResult {
    /// All samples of several runs, of which there is at least one, and estimates of the runs' mean.
    fn of_runs(results: &[&Self]) -> Self {
        let all = |of: fn(&Samples) -> &[f64]| -> Vec<f64> {
            results.iter().flat_map(|result| of(&result.samples)).copied().collect()
        };
        let samples = Samples {
            sampling_mode: results[0].samples.sampling_mode.clone(),
            iters: all(|samples| &samples.iters),
            times: all(|samples| &samples.times),
        };
        let median = |result: &&Self| {
            let ln_median = result.estimates.median.point_estimate.ln();
            let steps: Vec<f64> = result.samples.steps_ns().collect();
            // Two samples, as quick mode takes, have no noise that could be known.
            RunMedian::from_samples(&steps).unwrap_or(RunMedian { ln_median, variance: 0.0 })
        };
        let of_mean = |result: &&Self| {
            let Estimate { point_estimate, standard_error, .. } = result.estimates.mean;
            let variance = (standard_error / point_estimate).powi(2);
            RunMedian { ln_median: point_estimate.ln(), variance }
        };
        let over = |run: &dyn Fn(&&Self) -> RunMedian| estimate(results.iter().map(run).collect());
        let steps: Vec<f64> = samples.steps_ns().collect();
        let deviations = results.iter().map(|result| result.estimates.std_dev);
        let std_dev = widest(statistics::population_sd(&steps), deviations);
        let estimates = Estimates {
            mean: over(&of_mean),
            median: over(&median),
            median_abs_dev: None,
            slope: None,
            std_dev,
        };
        Self { benchmark: results[results.len() - 1].benchmark.clone(), estimates, samples }
    }
}

/// The geometric mean of the runs.
fn estimate(runs: Vec<RunMedian>) -> Estimate {
    /// A side that is known to be 1, so that the ratio over it is the other side.
    const ONE: [RunMedian; 1] = [RunMedian { ln_median: 0.0, variance: 0.0 }];
    const NOTHING: Floor = Floor { sigma: 0.0, freedom: f64::INFINITY };
    let side = sides_ratio(&runs, &ONE, NOTHING).expect("both sides have a run");
    let Ratio { ratio, low, high } = side.ratio;
    let error = (between_variance(&runs) / runs.len() as f64).sqrt();
    estimated(ratio, [low, high], ratio * error)
}

/// A value in the widest interval that the runs allow.
fn widest(value: f64, of_runs: impl Iterator<Item = Estimate> + Clone) -> Estimate {
    let bounds = of_runs.clone().map(|run| run.confidence_interval);
    let lowest = bounds.clone().map(|it| it.lower_bound).fold(value, f64::min);
    let highest = bounds.map(|it| it.upper_bound).fold(value, f64::max);
    let errors: Vec<f64> = of_runs.map(|run| run.standard_error).collect();
    estimated(value, [lowest, highest], mean(&errors))
}

const fn estimated(
    point_estimate: f64,
    [lower_bound, upper_bound]: [f64; 2],
    standard_error: f64,
) -> Estimate {
    let confidence_level = CONFIDENCE_LEVEL;
    let confidence_interval = ConfidenceInterval { confidence_level, lower_bound, upper_bound };
    Estimate { confidence_interval, point_estimate, standard_error }
}

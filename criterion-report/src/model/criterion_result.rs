//! Criterion's files of one benchmark, in criterion's own words: `benchmark.json`, `estimates.json`
//! and `sample.json` of criterion 0.8.2. Fields that other versions lack, or that only exchange
//! formats need, may be absent; unknown ones are ignored.

use plan::LastSample;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::possible;
use super::time::{Interval, Time};

/// One result folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CriterionResult {
    /// The benchmark.
    pub benchmark: Benchmark,
    /// Criterion's estimates from the samples.
    pub estimates: Estimates,
    /// The samples.
    pub samples: Samples,
}

/// `benchmark.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Benchmark {
    /// First part of the id.
    #[serde(default)]
    pub group_id: String,
    /// Second part.
    #[serde(default)]
    pub function_id: Option<String>,
    /// Third part.
    #[serde(default)]
    pub value_str: Option<String>,
    /// One of criterion's throughputs, as it stands there.
    #[serde(default)]
    pub throughput: Option<Value>,
    /// The whole id, by which results are known.
    pub full_id: String,
    /// The folder, from criterion's root; sanitised and cut.
    #[serde(default)]
    pub directory_name: String,
}

/// `estimates.json`, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimates {
    /// Mean over the samples.
    pub mean: Estimate,
    /// Median over the samples.
    pub median: Estimate,
    /// Median of the absolute deviations from it.
    #[serde(default)]
    pub median_abs_dev: Option<Estimate>,
    /// The slope of the samples' times over their iterations; linear sampling alone has one.
    #[serde(default)]
    pub slope: Option<Estimate>,
    /// Standard deviation over the samples.
    pub std_dev: Estimate,
}

/// A statistic and what the bootstrap says of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// Its interval.
    pub confidence_interval: ConfidenceInterval,
    /// Its value.
    pub point_estimate: f64,
    /// Standard deviation of its bootstrap distribution.
    #[serde(default)]
    pub standard_error: f64,
}

/// A confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfidenceInterval {
    /// E.g. 0.95.
    pub confidence_level: f64,
    /// Lower bound.
    pub lower_bound: f64,
    /// Upper bound.
    pub upper_bound: f64,
}

/// `sample.json`, in the order in which the samples were taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Samples {
    /// `Linear` or `Flat`.
    #[serde(default)]
    pub sampling_mode: String,
    /// Iterations in each sample; whole numbers.
    pub iters: Vec<f64>,
    /// Nanoseconds of each whole sample.
    pub times: Vec<f64>,
}

impl Samples {
    /// Time of a step in each sample in nanoseconds, in the order in which they were taken.
    pub fn steps_ns(&self) -> impl Iterator<Item = f64> {
        self.times.iter().zip(&self.iters).map(|(ns, iters)| ns / iters)
    }

    /// Times of a step, the fastest first.
    pub fn sorted_steps_ns(&self) -> Vec<f64> {
        let mut steps: Vec<f64> = self.steps_ns().collect();
        steps.sort_unstable_by(f64::total_cmp);
        steps
    }

    /// Quantiles of a step's time in nanoseconds, each between the two nearest samples.
    pub fn quantiles_ns<const N: usize>(&self, quantiles: [f64; N]) -> [f64; N] {
        let steps = self.sorted_steps_ns();
        quantiles.map(|q| statistics::quantile(&steps, q))
    }

    fn check(&self) -> Result<(), String> {
        if self.times.is_empty() {
            return Err("no samples".to_owned());
        }
        if self.times.len() != self.iters.len() {
            let (times, iters) = (self.times.len(), self.iters.len());
            return Err(format!("{times} times and {iters} numbers of iterations"));
        }
        let wrong = |value: &&f64| !possible::positive(**value);
        match (self.times.iter().find(wrong), self.iters.iter().find(wrong)) {
            (Some(ns), _) => Err(format!("a sample of {ns:?} ns is not possible")),
            (_, Some(iters)) => Err(format!("a sample of {iters} iterations")),
            (None, None) => Ok(()),
        }
    }
}

impl Estimates {
    pub fn check(&self) -> Result<(), String> {
        let Self { mean, median, median_abs_dev, slope, std_dev } = *self;
        for (name, estimate, is_possible) in [
            ("median", Some(median), possible::positive as fn(f64) -> bool),
            ("mean", Some(mean), possible::positive),
            ("slope", slope, possible::positive),
            ("standard deviation", Some(std_dev), possible::not_negative),
            ("median absolute deviation", median_abs_dev, possible::not_negative),
        ] {
            estimate.map_or(Ok(()), |it| it.check(name, is_possible))?;
        }
        Ok(())
    }
}

impl Estimate {
    /// Says what is wrong with it: its numbers have to be possible, and its interval one.
    fn check(&self, name: &str, is_possible: impl Fn(f64) -> bool) -> Result<(), String> {
        let ConfidenceInterval { confidence_level, lower_bound, upper_bound } =
            self.confidence_interval;
        let possible = [self.point_estimate, lower_bound, upper_bound].into_iter().all(is_possible);
        if !(possible && lower_bound <= upper_bound) {
            return Err(format!(
                "the {name} {:?} in [{lower_bound:?}, {upper_bound:?}] is invalid: all three have \
                 to be positive and below {:?} ns, and the bounds in order",
                self.point_estimate,
                possible::LARGEST,
            ));
        }
        if !possible::level(confidence_level) {
            return Err(format!("the {name} has a confidence level of {confidence_level}"));
        }
        Ok(())
    }
}

impl CriterionResult {
    /// Says which file has numbers that cannot be times, and why.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        self.samples.check().map_err(|why| ("sample.json", why))?;
        self.estimates.check().map_err(|why| ("estimates.json", why))
    }

    /// The last sample, to be compared with the record's. Criterion keeps both numbers as floats;
    /// they come from whole iterations and whole nanoseconds.
    pub fn last_sample(&self) -> LastSample {
        let last = |values: &[f64]| values.last().map_or(0, |value| value.round() as u64);
        LastSample { iters: last(&self.samples.iters), ns: last(&self.samples.times) }
    }

    /// Median of the samples' times of a step. The record vouches for `sample.json` only, so this is
    /// compared with the estimated one.
    pub fn sample_median_ns(&self) -> f64 {
        statistics::median(&self.samples.steps_ns().collect::<Vec<_>>())
    }

    /// Whether the estimates were made from the samples beside them.
    ///
    /// Criterion's median is that of the averages per iteration, in every sampling mode; the
    /// tolerance leaves room for the decimals of the file alone.
    pub fn is_of_its_samples(&self) -> bool {
        let estimated = self.estimates.median.point_estimate;
        (estimated / self.sample_median_ns() - 1.0).abs() <= 1e-9
    }

    pub fn time(&self) -> Time {
        let Estimates { mean, median, std_dev, .. } = &self.estimates;
        let ConfidenceInterval { confidence_level, lower_bound, upper_bound } =
            median.confidence_interval;
        let samples = self.samples.times.len();
        let quick = samples < Time::FEWEST_SAMPLES;
        let steps = || self.samples.steps_ns();
        Time {
            median_ns: median.point_estimate,
            interval: (!quick).then_some(Interval { low: lower_bound, high: upper_bound }),
            mean_ns: mean.point_estimate,
            std_dev_ns: std_dev.point_estimate,
            fastest_ns: steps().fold(f64::INFINITY, f64::min),
            slowest_ns: steps().fold(0.0, f64::max),
            samples,
            confidence_level,
            quick,
        }
    }
}

//! The ratio of two times from blocks in which both ran in turn.

use crate::quantile::{quantile, sorted};

/// How many times faster a candidate is than its baseline, above 1: faster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The baseline's time over the candidate's.
    pub ratio: f64,
    /// Lower bound of the interval.
    pub low: f64,
    /// Upper bound of the interval.
    pub high: f64,
}

impl Ratio {
    /// Half the width of the interval, relative to the ratio.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / (2.0 * self.ratio)
    }
}

/// Level of the interval.
pub const CONFIDENCE_LEVEL: f64 = 0.95;
/// Fewest blocks that give an interval.
pub const MIN_BLOCKS: usize = 12;

/// Share of the values trimmed at each end.
const TRIM: f64 = 0.2;
const RESAMPLES: usize = 999;

/// ln of the speed-up that one block of four timed batches shows, two of each, taken in the order
/// baseline, candidate, candidate, baseline or its reverse. Times per step, in any unit.
pub fn block(baseline: [f64; 2], candidate: [f64; 2]) -> f64 {
    let mean_ln = |[first, second]: [f64; 2]| f64::midpoint(first.ln(), second.ln());
    mean_ln(baseline) - mean_ln(candidate)
}

/// The speed-up and its interval at [`CONFIDENCE_LEVEL`] from the blocks' ln(speed-up). The same
/// blocks give the same interval. None below [`MIN_BLOCKS`].
pub fn ratio(log_ratios: &[f64]) -> Option<Ratio> {
    if log_ratios.len() < MIN_BLOCKS {
        return None;
    }
    let sorted = sorted(log_ratios);
    let centre = trimmed(&sorted);
    let half = centre.error * critical(&sorted, centre);
    let [ratio, low, high] = [centre.mean, centre.mean - half, centre.mean + half].map(f64::exp);
    Some(Ratio { ratio, low, high })
}

#[derive(Clone, Copy)]
struct Trimmed {
    mean: f64,
    error: f64,
}

fn trimmed(sorted: &[f64]) -> Trimmed {
    let n = sorted.len();
    let cut = (TRIM * n as f64) as usize;
    let kept = &sorted[cut..n - cut];
    let (first, last) = (kept[0], kept[kept.len() - 1]);
    let h = kept.len() as f64;
    let mean = kept.iter().sum::<f64>() / h;
    let winsorized = (kept.iter().sum::<f64>() + cut as f64 * (first + last)) / n as f64;
    let square = |value: f64| (value - winsorized) * (value - winsorized);
    let squares =
        kept.iter().copied().map(square).sum::<f64>() + cut as f64 * (square(first) + square(last));
    Trimmed { mean, error: (squares / (h * (h - 1.0))).sqrt() }
}

fn critical(values: &[f64], centre: Trimmed) -> f64 {
    let mut random = fastrand::Rng::with_seed(0);
    let mut resample = vec![0.0; values.len()];
    let mut statistics = vec![0.0; RESAMPLES];
    for statistic in &mut statistics {
        resample.fill_with(|| values[random.usize(..values.len())]);
        resample.sort_unstable_by(f64::total_cmp);
        let Trimmed { mean, error } = trimmed(&resample);
        let error = error.max(centre.error * 0.1);
        *statistic = if error > 0.0 { (mean - centre.mean).abs() / error } else { 0.0 };
    }
    statistics.sort_unstable_by(f64::total_cmp);
    quantile(&statistics, CONFIDENCE_LEVEL)
}

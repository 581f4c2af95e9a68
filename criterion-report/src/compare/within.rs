//! The rule of `kernels --compare-to`: the noise within two runs, and between them where a side has
//! several.
//!
//! A time is worse where the ratio of criterion's medians is above 1 + threshold and its whole interval
//! above 1, and better where the inverse ratio is; beyond the threshold with an interval that includes 1
//! it is inconclusive, and within the threshold as it was, however wide the interval. Errors are judged
//! as the default rule does. With one run on both sides, what the machine does otherwise from run
//! to run is in no interval; the spread of several is, and a single one on the other side is taken to
//! be one of as many. No case is judged more strictly because there are others: a difference that
//! matters is to be measured again.

use statistics::{CONFIDENCE_LEVEL, Floor, Ratio, RunMedian, between_variance, sides_ratio};

use super::counted;
use super::finding::{Finding, Measure, Verdict};
use super::noisy::{both_runs, centre};
use super::pairing::{Pairing, some_times};
use crate::model::Interval;
use crate::render::units;

/// Time, and the error where both sides have one.
pub fn judge(pairing: &Pairing<'_>) -> Vec<Finding> {
    let not_compared = |why: String| Finding::new(Measure::Time, Verdict::NotCompared, why);
    let time = time(pairing).unwrap_or_else(not_compared);
    std::iter::once(time).chain(counted::accuracy(pairing)).collect()
}

fn time(pairing: &Pairing<'_>) -> Result<Finding, String> {
    let now = some_times("now", &pairing.b)?;
    let earlier = some_times("in the baseline", &pairing.a)?;
    let (a_ns, b_ns, ratio, confidence_level) = match (&earlier[..], &now[..]) {
        ([earlier], [now]) => {
            (earlier.median_ns, now.median_ns, now.over(earlier)?, now.confidence_level)
        }
        _ => {
            let [a, b] = both_runs(pairing)?;
            let sides = sides_ratio(&b, &a, floor(&a, &b)).expect("both sides have a run");
            (centre(&a), centre(&b), sides.ratio, CONFIDENCE_LEVEL)
        }
    };
    let Ratio { ratio: factor, low, high } = ratio;
    let limit = 1.0 + pairing.limits.latency;
    let verdict = match factor > limit || factor < 1.0 / limit {
        false => Verdict::Equivalent,
        true if low > 1.0 => Verdict::Regressed,
        true if high < 1.0 => Verdict::Improved,
        true => Verdict::Inconclusive,
    };
    let reason = format!(
        "{} to {}, {}",
        units::time(a_ns),
        units::time(b_ns),
        units::ratio(factor, Some(Interval { low, high }))
    );
    let finding = Finding::new(Measure::Time, verdict, reason).with_values(a_ns, b_ns);
    Ok(finding.with_ratio(&ratio, confidence_level))
}

/// The noise between runs of a single run's side, taken from the other side's runs.
fn floor(a: &[RunMedian], b: &[RunMedian]) -> Floor {
    let several = if a.len() > b.len() { a } else { b };
    if several.len() == 1 {
        return Floor { sigma: 0.0, freedom: f64::INFINITY };
    }
    Floor { sigma: between_variance(several).sqrt(), freedom: (several.len() - 1) as f64 }
}

#[cfg(test)]
#[path = "within_tests.rs"]
mod tests;

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
use super::finding::Finding;
use super::noisy::runs;
use super::pairing::{Pairing, some_times};
use super::ratio_test::centre;
use super::verdict::{Measure, Verdict};
use crate::model::Interval;
use crate::units;

/// Time, and the error where both sides have one.
pub fn judge(pairing: &Pairing<'_>) -> Vec<Finding> {
    let not_compared = |why: String| Finding::new(Measure::Time, Verdict::NotCompared, why);
    let time = Times::of(pairing)
        .map(|times| times.finding(pairing.limits.latency))
        .unwrap_or_else(not_compared);
    std::iter::once(time).chain(counted::accuracy(pairing)).collect()
}

struct Times {
    a_ns: f64,
    b_ns: f64,
    ratio: Ratio,
    confidence_level: f64,
}

impl Times {
    fn of(pairing: &Pairing<'_>) -> Result<Self, String> {
        let now = some_times("now", &pairing.b)?;
        let earlier = some_times("in the baseline", &pairing.a)?;
        if let ([earlier], [now]) = (earlier.as_slice(), now.as_slice()) {
            return Ok(Self {
                a_ns: earlier.median_ns,
                b_ns: now.median_ns,
                ratio: now.over(earlier)?,
                confidence_level: now.confidence_level,
            });
        }
        let (a, b) = (runs("A", &pairing.a)?, runs("B", &pairing.b)?);
        let ratio = sides_ratio(&b, &a, floor(&a, &b)).expect("both sides have a run").ratio;
        let [a_ns, b_ns] = [a, b].map(|side| centre(&side));
        Ok(Self { a_ns, b_ns, ratio, confidence_level: CONFIDENCE_LEVEL })
    }

    fn finding(&self, threshold: f64) -> Finding {
        let Self { a_ns, b_ns, ratio, confidence_level } = self;
        let limit = 1.0 + threshold;
        let beyond = ratio.ratio > limit || ratio.ratio < 1.0 / limit;
        let verdict = match beyond {
            false => Verdict::Equivalent,
            true if ratio.low > 1.0 => Verdict::Regressed,
            true if ratio.high < 1.0 => Verdict::Improved,
            true => Verdict::Inconclusive,
        };
        let interval = Interval { low: ratio.low, high: ratio.high };
        let reason = format!(
            "{} to {}, {}",
            units::time(*a_ns),
            units::time(*b_ns),
            units::ratio(ratio.ratio, Some(interval))
        );
        let finding = Finding::new(Measure::Time, verdict, reason);
        Finding { a: Some(*a_ns), b: Some(*b_ns), ..finding.with_ratio(ratio, *confidence_level) }
    }
}

/// The noise between runs of a single run's side, taken from the other side's runs.
fn floor(a: &[RunMedian], b: &[RunMedian]) -> Floor {
    let several = if a.len() > b.len() { a } else { b };
    if several.len() == 1 {
        return Floor { sigma: 0.0, freedom: f64::INFINITY };
    }
    Floor { sigma: between_variance(several).sqrt(), freedom: (several.len() - 1) as f64 }
}

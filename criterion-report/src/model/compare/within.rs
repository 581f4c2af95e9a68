//! The rule of `kernels --compare-to`: one launch per side, and the noise within both of them.
//!
//! A time is worse where the ratio of criterion's medians is above 1 + threshold and its whole interval
//! above 1, and better where the inverse ratio is; beyond the threshold with an interval that includes 1
//! it is inconclusive, and within the threshold as it was, however wide the interval. Errors are judged
//! as the default rule does. What the machine does otherwise from launch to launch is in no interval
//! here, and no case is judged more strictly because there are others: a difference that matters is to
//! be measured again.

use super::counted;
use super::finding::Finding;
use super::pairing::Pairing;
use super::point::{Estimate, Point};
use super::verdict::{Measure, Verdict};
use crate::model::Interval;
use crate::units;

/// Time, and the error where both sides have one.
pub fn judge(pairing: &Pairing<'_>) -> Vec<Finding> {
    let not_compared = |why: String| Finding::new(Measure::Time, Verdict::NotCompared, why);
    let (&[a], &[b]) = (pairing.a.as_slice(), pairing.b.as_slice()) else {
        return vec![not_compared("the rule `within` is for one launch per side".to_owned())];
    };
    let time = times(a, b)
        .and_then(|(earlier, now)| time(&earlier, &now, pairing.limits.latency))
        .unwrap_or_else(not_compared);
    std::iter::once(time).chain(counted::accuracy(pairing)).collect()
}

/// Of A and of B.
fn times(a: &Point, b: &Point) -> Result<(Estimate, Estimate), String> {
    let without = |when: &str, point: &Point| {
        let reason = point.reason.as_deref().unwrap_or("the record does not say why");
        format!("no time {when}: {reason}")
    };
    let now = b.time.ok_or_else(|| without("now", b))?;
    let earlier = a.time.ok_or_else(|| without("in the baseline", a))?;
    Ok((earlier, now))
}

fn time(earlier: &Estimate, now: &Estimate, threshold: f64) -> Result<Finding, String> {
    let ratio = now.over(earlier)?;
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
        units::time(earlier.median_ns),
        units::time(now.median_ns),
        units::ratio(ratio.ratio, Some(interval))
    );
    Ok(Finding {
        a: Some(earlier.median_ns),
        b: Some(now.median_ns),
        ratio: Some(ratio.ratio),
        interval: Some(interval),
        ..Finding::new(Measure::Time, verdict, reason)
    })
}

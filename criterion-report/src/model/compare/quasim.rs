//! The rule of QuASIM's benchmarking tools: a median above the earlier one by more than a tenth is a
//! regression, and so is an error that differs by more than 1e-3 (which its documents have and its
//! code has not). No noise is looked at, and nothing can improve.

use statistics::median;

use super::counted::{errors, exceeds};
use super::finding::Finding;
use super::pairing::{Pairing, times};
use super::point::Point;
use super::verdict::{Measure, Verdict};
use crate::units;

/// Time, and the error where both sides have one.
pub fn judge(pairing: &Pairing<'_>) -> Vec<Finding> {
    let medians =
        |side: &[&Point]| times(side).iter().map(|time| time.median_ns).collect::<Vec<f64>>();
    let mut findings =
        vec![time(&medians(&pairing.a), &medians(&pairing.b), pairing.limits.latency)];
    let (name, [a, b]) = errors(pairing);
    if !a.is_empty() && !b.is_empty() {
        findings.push(accuracy(name, median(&a), median(&b), pairing.limits.accuracy));
    }
    findings
}

fn time(a: &[f64], b: &[f64], threshold: f64) -> Finding {
    if a.is_empty() || b.is_empty() {
        let side = if a.is_empty() { "A" } else { "B" };
        return Finding::new(Measure::Time, Verdict::NotCompared, format!("no time in {side}"));
    }
    let (before, after) = (median(a), median(b));
    let change = (after - before) / before;
    let verdict = if change > threshold { Verdict::Regressed } else { Verdict::Equivalent };
    let reason = if change > threshold {
        format!("latency increased by {}", units::percent(change))
    } else {
        format!("latency increased by no more than {}", units::percent(threshold))
    };
    Finding {
        a: Some(before),
        b: Some(after),
        ratio: Some(after / before),
        ..Finding::new(Measure::Time, verdict, reason)
    }
}

fn accuracy(name: &'static str, before: f64, after: f64, threshold: f64) -> Finding {
    // Two that are no numbers do not differ; a number and none always do.
    let drift = (after - before).abs();
    let differ = if before.is_finite() && after.is_finite() {
        exceeds(drift, threshold)
    } else {
        before.is_finite() != after.is_finite()
    };
    let verdict = if differ { Verdict::Regressed } else { Verdict::Equivalent };
    let reason = format!("{name} {} to {}", units::error(before), units::error(after));
    Finding {
        name,
        a: Some(before),
        b: Some(after),
        ..Finding::new(Measure::Accuracy, verdict, reason)
    }
}

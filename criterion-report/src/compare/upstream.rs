//! The rules of other projects' tools. No noise is looked at, and nothing can improve.

use plan::Mode;
use statistics::median;

use super::counted::{errors, exceeds};
use super::finding::{Finding, Measure, Verdict};
use super::pairing::{Pairing, values};
use crate::render::units;

/// The rule of QuASIM's benchmarking tools: a median above the earlier one by more than a tenth is a
/// regression, and so is an error that differs by more than 1e-3 (which its documents have and its
/// code has not). Time, and the error where both sides have one.
pub fn quasim(pairing: &Pairing<'_>) -> Vec<Finding> {
    let [a, b] = medians(pairing);
    let threshold = pairing.limits.latency;
    let time = judged(Measure::Time, &a, &b, |before, after| {
        let change = (after - before) / before;
        if change > threshold {
            (Verdict::Regressed, format!("latency increased by {}", units::percent(change)))
        } else {
            let most = units::percent(threshold);
            (Verdict::Equivalent, format!("latency increased by no more than {most}"))
        }
    });
    let (name, [a, b]) = errors(pairing);
    let both = !a.is_empty() && !b.is_empty();
    let error = || accuracy(name, median(&a), median(&b), pairing.limits.accuracy);
    std::iter::once(time).chain(both.then(error)).collect()
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
    let finding = Finding::new(Measure::Accuracy, verdict, reason).with_values(before, after);
    Finding { name, ..finding }
}

/// The rule of PyTorch's HUD, for its dashboards' regression reports, as
/// `aws/lambda/benchmark_regression_summary_report` of pytorch/test-infra has it: a time violates
/// where it is above 1.20 times the least of a window, that of an operator's microbenchmark above
/// 1.35 times the window's median, a speed-up where it is below 0.9 times the median. Two violations at
/// the end of a series are a regression; three in a row before the end are suspicious; less than two
/// points are insufficient data. Here A's runs are the window and B's runs the series, in their order.
///
/// Time, and speed-up where both sides have one.
pub fn hud(pairing: &Pairing<'_>) -> Vec<Finding> {
    const TIME: f64 = 1.20;
    const OPERATOR_TIME: f64 = 1.35;
    const SPEEDUP: f64 = 0.9;
    let of_operator = plan::mode_of(pairing.full_id) == Mode::Operators.as_str();
    let [a, b] = medians(pairing);
    let (bound, rule) = if of_operator {
        (OPERATOR_TIME * median(&a), "1.35 × the median of A")
    } else {
        (TIME * a.iter().copied().fold(f64::INFINITY, f64::min), "1.20 × the least of A")
    };
    let mut findings = vec![series(Measure::Time, &a, &b, |value| value > bound, rule)];
    let [a, b] = pairing.sides().map(|side| values(side, |it| it.speedup));
    if !a.is_empty() && !b.is_empty() {
        let bound = SPEEDUP * median(&a);
        let rule = "0.9 × the median of A";
        findings.push(series(Measure::Speedup, &a, &b, |value| value < bound, rule));
    }
    findings
}

/// Violations at the end that are a regression.
const TRAILING: usize = 2;
/// Violations in a row that are suspicious.
const RUN: usize = 3;
/// Fewest points.
const POINTS: usize = 2;

fn series(
    measure: Measure,
    a: &[f64],
    b: &[f64],
    violates: impl Fn(f64) -> bool,
    rule: &str,
) -> Finding {
    let flags: Vec<bool> = b.iter().map(|value| violates(*value)).collect();
    let trailing = flags.iter().rev().take_while(|violates| **violates).count();
    let longest = flags.split(|violates| !violates).map(<[bool]>::len).max().unwrap_or(0);
    judged(measure, a, b, |_, _| {
        if b.len() < POINTS {
            let few = "insufficient_data: B has one run, the rule needs two";
            (Verdict::Inconclusive, few.to_owned())
        } else if trailing >= TRAILING {
            (Verdict::Regressed, format!("regression: the last {trailing} runs violate {rule}"))
        } else if longest >= RUN {
            (Verdict::Inconclusive, format!("suspicious: {longest} runs in a row violate {rule}"))
        } else {
            (Verdict::Equivalent, format!("no_regression against {rule}"))
        }
    })
}

fn medians(pairing: &Pairing<'_>) -> [Vec<f64>; 2] {
    pairing.sides().map(|side| values(side, |it| Some(it.time?.median_ns)))
}

/// The finding of a rule on the medians of both sides, where both have a value.
fn judged(
    measure: Measure,
    a: &[f64],
    b: &[f64],
    rule: impl FnOnce(f64, f64) -> (Verdict, String),
) -> Finding {
    if a.is_empty() || b.is_empty() {
        let side = if a.is_empty() { "A" } else { "B" };
        let reason = format!("no {} in {side}", measure.word());
        return Finding::new(measure, Verdict::NotCompared, reason);
    }
    let (before, after) = (median(a), median(b));
    let (verdict, reason) = rule(before, after);
    let finding = Finding::new(measure, verdict, reason).with_values(before, after);
    Finding { ratio: Some(after / before), ..finding }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn violations_at_the_end_regress_and_before_it_are_suspicious() {
        for (b, verdict, says) in [
            (&[121.0][..], Verdict::Inconclusive, "insufficient_data"),
            (&[121.0, 121.0], Verdict::Regressed, "regression: the last 2"),
            (&[121.0, 100.0], Verdict::Equivalent, "no_regression"),
            (&[100.0, 121.0], Verdict::Equivalent, "no_regression"),
            (&[121.0, 121.0, 100.0], Verdict::Equivalent, "no_regression"),
            (&[121.0, 121.0, 121.0, 100.0], Verdict::Inconclusive, "suspicious: 3"),
            (&[120.0, 120.0], Verdict::Equivalent, "no_regression"),
        ] {
            let found = series(Measure::Time, &[100.0, 110.0], b, |ns| ns > 120.0, "it");
            assert_eq!(found.verdict, verdict, "{b:?}");
            assert!(found.reason.contains(says), "{b:?}: {}", found.reason);
        }
    }
}

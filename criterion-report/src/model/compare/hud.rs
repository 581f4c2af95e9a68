//! The rule of PyTorch's HUD, for its dashboards' regression reports.
//!
//! As `aws/lambda/benchmark_regression_summary_report` of pytorch/test-infra has it: a time violates
//! where it is above 1.20 times the least of a window, that of an operator's microbenchmark above
//! 1.35 times the window's median, a speed-up where it is below 0.9 times the median. Two violations at
//! the end of a series are a regression; three in a row before the end are suspicious; less than two
//! points are insufficient data. No noise is looked at. Here A's runs are the window and B's
//! runs the series, in their order. Nothing can improve.

use plan::Mode;
use statistics::median;

use super::finding::Finding;
use super::pairing::{Pairing, times};
use super::point::Point;
use super::verdict::{Measure, Verdict};

const TIME: f64 = 1.20;
const OPERATOR_TIME: f64 = 1.35;
const SPEEDUP: f64 = 0.9;
/// Violations at the end that are a regression.
const TRAILING: usize = 2;
/// Violations in a row that are suspicious.
const RUN: usize = 3;
/// Fewest points.
const POINTS: usize = 2;

/// Time, and speed-up where both sides have one.
pub fn judge(pairing: &Pairing<'_>) -> Vec<Finding> {
    let medians =
        |side: &[&Point]| times(side).iter().map(|time| time.median_ns).collect::<Vec<f64>>();
    let speedups =
        |side: &[&Point]| side.iter().filter_map(|point| point.speedup).collect::<Vec<f64>>();
    let of_operator = plan::target_of(pairing.full_id) == Mode::Operators.as_str();
    let (a, b) = (medians(&pairing.a), medians(&pairing.b));
    let bound = if of_operator {
        OPERATOR_TIME * median(&a)
    } else {
        TIME * a.iter().copied().fold(f64::INFINITY, f64::min)
    };
    let rule = if of_operator { "1.35 × the median of A" } else { "1.20 × the least of A" };
    let mut findings = vec![series(Measure::Time, &a, &b, |value| value > bound, rule)];
    let (a, b) = (speedups(&pairing.a), speedups(&pairing.b));
    if !a.is_empty() && !b.is_empty() {
        let bound = SPEEDUP * median(&a);
        let rule = "0.9 × the median of A";
        findings.push(series(Measure::Speedup, &a, &b, |value| value < bound, rule));
    }
    findings
}

fn series(
    measure: Measure,
    a: &[f64],
    b: &[f64],
    violates: impl Fn(f64) -> bool,
    rule: &str,
) -> Finding {
    if a.is_empty() || b.is_empty() {
        let side = if a.is_empty() { "A" } else { "B" };
        return Finding::new(
            measure,
            Verdict::NotCompared,
            format!("no {} in {side}", measure.word()),
        );
    }
    let flags: Vec<bool> = b.iter().map(|value| violates(*value)).collect();
    let trailing = flags.iter().rev().take_while(|violates| **violates).count();
    let longest = flags.split(|violates| !violates).map(<[bool]>::len).max().unwrap_or(0);
    let (verdict, reason) = if b.len() < POINTS {
        let few = "insufficient_data: B has one run, the rule needs two";
        (Verdict::Inconclusive, few.to_owned())
    } else if trailing >= TRAILING {
        (Verdict::Regressed, format!("regression: the last {trailing} runs violate {rule}"))
    } else if longest >= RUN {
        (Verdict::Inconclusive, format!("suspicious: {longest} runs in a row violate {rule}"))
    } else {
        (Verdict::Equivalent, format!("no_regression against {rule}"))
    };
    let (before, after) = (median(a), median(b));
    Finding {
        a: Some(before),
        b: Some(after),
        ratio: Some(after / before),
        ..Finding::new(measure, verdict, reason)
    }
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

//! How the cases of now differ from those of an earlier time: what the comparison of two sides finds,
//! in the lists of the report.

use anyhow::Result;
use plan::{Mode, RunManifest, Stat};
use serde_json::{Value, json};

use crate::compare;
use crate::compare::{
    Finding, Floors, Hosts, Limits, Measure, Point, Policy, Settings, Side, SideRun, Thresholds,
    Verdict, Words,
};
use crate::model::Interval;
use crate::order::Order as _;
use crate::render::object::object;

#[derive(Debug, Clone, PartialEq)]
pub struct Changed {
    pub full_id: String,
    /// The finding; times are in nanoseconds.
    pub found: Finding,
    /// How the case ended earlier, and now.
    pub ended: [String; 2],
}

impl Changed {
    pub const fn kind(&self) -> &'static str {
        match self.found.measure {
            Measure::Outcome => "failure",
            Measure::Accuracy => "accuracy",
            _ => "latency",
        }
    }

    pub const fn is_error(&self) -> bool {
        matches!(self.found.measure, Measure::Accuracy)
    }

    /// The old and the new value; `None` for an outcome.
    pub fn values(&self) -> Option<[f64; 2]> {
        Some([self.found.a?, self.found.b?])
    }

    /// A time now over the earlier one, with its interval.
    pub fn ratio(&self) -> Option<(f64, Interval)> {
        self.found.ratio.zip(self.found.interval()).filter(|_| self.kind() == "latency")
    }

    /// How much it is, to sort by: failures come before times, by their factor either way, and these
    /// before errors, by their difference.
    fn weight(&self) -> (u8, f64) {
        let moved = [Verdict::Regressed, Verdict::Improved, Verdict::Inconclusive];
        match (self.ratio(), self.values()) {
            // Others keep their order.
            _ if !moved.contains(&self.found.verdict) => (2, 0.0),
            (Some((ratio, _)), _) => (1, ratio.ln().abs()),
            // A NaN is the largest error.
            (None, Some([before, after])) if self.is_error() => {
                let change = (after - before).abs();
                (0, if change.is_nan() { f64::INFINITY } else { change })
            }
            (None, _) => (2, 0.0),
        }
    }

    /// Its name in `regressions.json`, and both values as they stand there.
    fn sides(&self) -> (&'static str, [Value; 2]) {
        let numbers = |scale: f64| {
            let values = [self.found.a, self.found.b];
            values.map(|value| json!(value.map(|value| Stat(value / scale))))
        };
        match self.found.measure {
            Measure::Outcome => ("outcome", self.ended.each_ref().map(|ended| json!(ended))),
            Measure::Accuracy => (self.found.name, numbers(1.0)),
            _ => ("median_ms", numbers(1e6)),
        }
    }

    /// By how much it changed: relative to what a time was, absolute of an error.
    fn amount(&self) -> Option<f64> {
        let error = || self.values().filter(|_| self.is_error()).map(|[before, now]| now - before);
        let relative = self.ratio().map(|(ratio, _)| ratio - 1.0);
        relative.or_else(error).filter(|change| change.is_finite())
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Changes {
    pub baseline: String,
    /// Where the baseline was found, if it is no saved one.
    pub source: Option<String>,
    /// Revisions that the baseline's cases are of, each once.
    pub revisions: Vec<String>,
    /// The thresholds, of which those of the time and the error count.
    pub thresholds: Limits,
    found: Vec<Changed>,
    /// Number of cases with a comparison that are as they were.
    pub unchanged: usize,
}

impl Changes {
    /// The changes with a verdict. Those that regressed, improved or may have are sorted by how much.
    pub fn of(&self, verdict: Verdict) -> Vec<&Changed> {
        self.found.iter().filter(|changed| changed.found.verdict == verdict).collect()
    }
}

/// Bounds of the change of a time, relative as the change itself.
struct Bounds(Interval, Option<f64>);
/// A case without a comparison, and why.
struct Uncompared<'a>(&'a Changed);

fn uncompared(cases: Vec<&Changed>) -> Vec<Uncompared<'_>> {
    cases.into_iter().map(Uncompared).collect()
}

// As `regressions.json` has them.
object! {
    Changes => |it| {
        "version": 1,
        "baseline": it.baseline,
        "baseline_source": it.source,
        "baseline_revisions": it.revisions,
        "latency_threshold": it.thresholds.latency,
        "accuracy_threshold": it.thresholds.accuracy,
        "unchanged": it.unchanged,
        "regressions": it.of(Verdict::Regressed),
        "improvements": it.of(Verdict::Improved),
        "inconclusive": it.of(Verdict::Inconclusive),
        "new": uncompared(it.of(Verdict::New)),
        "missing": uncompared(it.of(Verdict::Missing)),
        "not_compared": uncompared(it.of(Verdict::NotCompared)),
    }

    Changed => |it| [sides = it.sides();] {
        "full_id": it.full_id,
        "kind": it.kind(),
        "measure": sides.0,
        "before": sides.1[0],
        "after": sides.1[1],
        "change": it.amount(),
        "interval": it.ratio().map(|(_, bounds)| Bounds(bounds, it.found.confidence_level)),
    }

    Bounds => |it| {
        "low": it.0.low - 1.0,
        "high": it.0.high - 1.0,
        "confidence_level": it.1,
    }

    Uncompared<'_> => |it| {
        "full_id": it.0.full_id,
        "reason": it.0.found.reason,
    }
}

/// Compares what there is now, each id once, with what there was `before`, by [`Policy::Within`].
///
/// `latest` is the latest run of the kernels' bench target: what it was kept from, and what it would have selected if it were still
/// there. Cases of another machine are not compared.
pub fn compare(
    before: &Side,
    now: Vec<Point>,
    latest: Option<&RunManifest>,
    limits: Limits,
) -> Result<Changes> {
    let mut now = SideRun::new("now", now);
    now.manifests.extend(latest.map(|run| (Mode::Kernels.to_string(), run.clone())));
    let now = Side { name: "now".to_owned(), runs: vec![now] };
    let settings = Settings {
        policy: Policy::Within,
        thresholds: &Thresholds { limits, rules: Vec::new() },
        floors: Floors::Ignored,
        hosts: Hosts::Apart,
        words: Words::NOW,
    };
    let comparison = compare::compare(before, &now, settings)?;
    let (mut found, mut unchanged) = (Vec::new(), 0);
    for case in comparison.cases {
        let sides = [before, &now].map(|side| deciding(side, &case.full_id));
        let ended = sides.map(|side| side.map(Point::ended).unwrap_or_default());
        let same = case.findings.iter().all(|found| found.verdict == Verdict::Equivalent);
        unchanged += usize::from(same);
        found.extend(case.findings.into_iter().map(|found| Changed {
            full_id: case.full_id.clone(),
            found,
            ended: ended.clone(),
        }));
    }
    found.order_by(|a, b| {
        let ((a, of_a), (b, of_b)) = (a.weight(), b.weight());
        b.cmp(&a).then(of_b.total_cmp(&of_a))
    });
    let (baseline, revisions) = (before.name.clone(), comparison.a.revisions);
    Ok(Changes { baseline, source: None, revisions, thresholds: limits, found, unchanged })
}

/// The run of a side that says how a case ended: if any measured it, it was measured, and a defect
/// of the case comes before another reason.
fn deciding<'a>(side: &'a Side, id: &str) -> Option<&'a Point> {
    let points = side.runs.iter().filter_map(|run| run.get(id));
    points.rev().max_by_key(|point| (point.is_measured(), point.is_broken()))
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;

//! `regressions.json`: what differs from an earlier time, for programs.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::model::kernels::{Change, Changed, Changes, Uncompared};

#[derive(Serialize)]
struct File<'a> {
    version: u32,
    baseline: &'a str,
    baseline_revisions: &'a BTreeSet<String>,
    latency_threshold: f64,
    accuracy_threshold: f64,
    unchanged: usize,
    regressions: Vec<Line<'a>>,
    improvements: Vec<Line<'a>>,
    inconclusive: Vec<Line<'a>>,
    new: Vec<Other<'a>>,
    missing: Vec<Other<'a>>,
    not_compared: Vec<Other<'a>>,
}

#[derive(Serialize)]
struct Line<'a> {
    full_id: &'a str,
    kind: &'static str,
    measure: &'static str,
    before: Side<'a>,
    after: Side<'a>,
    change: Option<f64>,
    interval: Option<Bounds>,
}

/// A number; a word where there is none.
#[derive(Serialize)]
#[serde(untagged)]
enum Side<'a> {
    Number(plan::Stat),
    Text(&'a str),
}

/// Bounds of the change, relative as the change itself.
#[derive(Serialize)]
struct Bounds {
    low: f64,
    high: f64,
    confidence_level: f64,
}

impl<'a> Line<'a> {
    fn of(changed: &'a Changed) -> Self {
        let number = |value: f64| Side::Number(plan::Stat(value));
        let (measure, before, after, change, interval) = match &changed.change {
            Change::Latency { before_ns, after_ns, ratio, confidence_level } => {
                let bounds = Bounds {
                    low: ratio.low - 1.0,
                    high: ratio.high - 1.0,
                    confidence_level: *confidence_level,
                };
                let (before, after) = (number(before_ns / 1e6), number(after_ns / 1e6));
                ("median_ms", before, after, Some(ratio.ratio - 1.0), Some(bounds))
            }
            Change::Accuracy { measure, before, after } => {
                let change = Some(after - before).filter(|change| change.is_finite());
                (*measure, number(*before), number(*after), change, None)
            }
            Change::Failure { before, after } => {
                ("outcome", Side::Text(before), Side::Text(after), None, None)
            }
        };
        Self {
            full_id: &changed.full_id,
            kind: changed.change.kind(),
            measure,
            before,
            after,
            change,
            interval,
        }
    }
}

#[derive(Serialize)]
struct Other<'a> {
    full_id: &'a str,
    reason: &'a str,
}

fn lines(changed: &[Changed]) -> Vec<Line<'_>> {
    changed.iter().map(Line::of).collect()
}

fn others(uncompared: &[Uncompared]) -> Vec<Other<'_>> {
    uncompared.iter().map(|it| Other { full_id: &it.full_id, reason: &it.reason }).collect()
}

/// The file.
pub fn json(changes: &Changes) -> serde_json::Result<String> {
    let file = File {
        version: 1,
        baseline: &changes.baseline,
        baseline_revisions: &changes.revisions,
        latency_threshold: changes.thresholds.latency,
        accuracy_threshold: changes.thresholds.accuracy,
        unchanged: changes.unchanged,
        regressions: lines(&changes.regressions),
        improvements: lines(&changes.improvements),
        inconclusive: lines(&changes.inconclusive),
        new: others(&changes.new),
        missing: others(&changes.missing),
        not_compared: others(&changes.not_compared),
    };
    Ok(serde_json::to_string_pretty(&file)? + "\n")
}

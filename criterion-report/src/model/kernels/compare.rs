//! The cases of now against those of an earlier time: what the comparison of two sides finds, sorted
//! into the lists of the report.

use plan::RunManifest;
use statistics::Ratio;

use super::change::{Change, Changed, Changes, Uncompared};
use crate::model::compare::{
    self, Finding, Floors, Hosts, HostsDiffer, Launch, Limits, Measure, Point, Policy, Settings,
    Side, Thresholds, Verdict, Words,
};

/// Compares what there is now, each id once, with what there was `before`, by [`Policy::Within`].
///
/// `latest` is the latest run: what it was kept from, and what it would have selected if it were still
/// there. Cases of another machine are not compared.
///
/// # Errors
/// When a case of two machines is refused.
pub fn compare(
    before: &Side,
    now: Vec<Point>,
    latest: Option<&RunManifest>,
    limits: Limits,
) -> Result<Changes, HostsDiffer> {
    let mut now = Launch::new("now", now);
    now.runs.extend(latest.map(|run| (run.target.clone(), run.clone())));
    let now = Side { name: "now".to_owned(), launches: vec![now] };
    let settings = Settings {
        policy: Policy::Within,
        thresholds: &Thresholds { limits, rules: Vec::new() },
        floors: Floors::Ignored,
        hosts: Hosts::Apart,
        words: Words::NOW,
    };
    let comparison = compare::compare(before, &now, settings)?;
    let mut changes =
        Changes { baseline: before.name.clone(), thresholds: limits, ..Changes::default() };
    changes.revisions = comparison.a.revisions.into_iter().collect();
    for case in &comparison.cases {
        let sides = [before, &now].map(|side| deciding(side, &case.full_id));
        case.findings.iter().for_each(|found| changes.add(&case.full_id, found, sides));
        let same = case.findings.iter().all(|found| found.verdict == Verdict::Equivalent);
        changes.unchanged += usize::from(same);
    }
    for list in [&mut changes.regressions, &mut changes.improvements, &mut changes.inconclusive] {
        list.sort_by(|a, b| {
            let ((a, of_a), (b, of_b)) = (a.change.weight(), b.change.weight());
            b.cmp(&a).then(of_b.total_cmp(&of_a))
        });
    }
    Ok(changes)
}

/// The launch of a side that says how a case ended: if any measured it, it was measured, and a defect
/// of the case comes before another reason.
fn deciding<'a>(side: &'a Side, id: &str) -> Option<&'a Point> {
    let points = side.launches.iter().filter_map(|launch| launch.get(id));
    points.rev().max_by_key(|point| (point.is_measured(), point.is_broken()))
}

impl Changes {
    fn add(&mut self, id: &str, found: &Finding, sides: [Option<&Point>; 2]) {
        let uncompared = || Uncompared { full_id: id.to_owned(), reason: found.reason.clone() };
        let changed = || Changed {
            full_id: id.to_owned(),
            change: change(found, sides).expect("a difference is of two times"),
        };
        match found.verdict {
            Verdict::Regressed => self.regressions.push(changed()),
            Verdict::Improved => self.improvements.push(changed()),
            Verdict::Inconclusive => self.inconclusive.push(changed()),
            Verdict::New => self.new.push(uncompared()),
            Verdict::Missing => self.missing.push(uncompared()),
            Verdict::NotCompared => self.not_compared.push(uncompared()),
            Verdict::Equivalent => {}
        }
    }
}

fn change(found: &Finding, [before, now]: [Option<&Point>; 2]) -> Option<Change> {
    Some(match found.measure {
        Measure::Outcome => Change::Failure { before: before?.ended(), after: now?.ended() },
        Measure::Accuracy => {
            Change::Accuracy { measure: found.name, before: found.a?, after: found.b? }
        }
        _ => {
            let interval = found.interval?;
            Change::Latency {
                before_ns: found.a?,
                after_ns: found.b?,
                ratio: Ratio { ratio: found.ratio?, low: interval.low, high: interval.high },
                confidence_level: found.confidence_level?,
            }
        }
    })
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;

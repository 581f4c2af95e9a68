//! The cases of now against those of an earlier time.

use std::collections::{BTreeMap, HashSet};

use super::change::{Change, Changed, Changes, Thresholds, Uncompared};
use crate::model::compare::Asked;
use crate::model::compare::Point;

/// Compares what there is now with what there was `before`, each id once.
///
/// A time is worse where the ratio of the medians is above 1 + threshold and its whole interval
/// above 1, and better where the inverse ratio is. An error is another where it differs by more than
/// the threshold. `asked` tells what the latest run was kept from, and what it would have selected if
/// it were still there.
pub fn compare(
    baseline: &str,
    before: &[Point],
    now: &[Point],
    asked: &Asked<'_>,
    thresholds: Thresholds,
) -> Changes {
    let mut changes = Changes { baseline: baseline.to_owned(), thresholds, ..Changes::default() };
    changes.revisions = before.iter().filter_map(|point| point.revision.clone()).collect();
    let earlier: BTreeMap<&str, &Point> =
        before.iter().map(|point| (point.full_id.as_str(), point)).collect();
    for point in now {
        if point.earlier && asked.passed_over(&point.full_id).is_none() {
            changes.add_gone(earlier.get(point.full_id.as_str()).copied(), point);
            continue;
        }
        match earlier.get(point.full_id.as_str()) {
            Some(earlier) => changes.add(earlier, point),
            None if point.is_measured() => {
                changes.new.push(uncompared(point, "the baseline has no record of it".to_owned()));
            }
            None => {
                let reason = format!("{}; the baseline has no record of it", point.ended());
                changes.not_compared.push(uncompared(point, reason));
            }
        }
    }
    let known: HashSet<&str> = now.iter().map(|point| point.full_id.as_str()).collect();
    let gone = earlier.values().filter(|it| it.is_measured() && !known.contains(&*it.full_id));
    for point in gone {
        let passed_over = asked.passed_over(&point.full_id);
        let earlier = || point.earlier.then(|| OF_BASELINE.to_owned());
        match passed_over.or_else(earlier) {
            Some(reason) => changes.not_compared.push(uncompared(point, reason)),
            None => {
                changes.missing.push(uncompared(point, "there is no record of it now".to_owned()))
            }
        }
    }
    for list in [&mut changes.regressions, &mut changes.improvements, &mut changes.inconclusive] {
        list.sort_by(|a, b| {
            let ((a, of_a), (b, of_b)) = (a.change.weight(), b.change.weight());
            b.cmp(&a).then(of_b.total_cmp(&of_a))
        });
    }
    changes
}

/// Of what the baseline's name had at an earlier time.
const OF_BASELINE: &str = "the baseline's latest run did not select it";
/// Of a record that is still there, of a case that is not.
const GONE: &str = "the latest run no longer has it; there is a record of an earlier run";

fn uncompared(point: &Point, reason: String) -> Uncompared {
    Uncompared { full_id: point.full_id.clone(), reason }
}

impl Changes {
    /// A case whose record is of an earlier run, while the latest would have selected it.
    fn add_gone(&mut self, before: Option<&Point>, now: &Point) {
        let counts = before.is_some_and(|before| before.is_measured() && !before.earlier);
        let list = if counts { &mut self.missing } else { &mut self.not_compared };
        list.push(uncompared(now, GONE.to_owned()));
    }

    fn add(&mut self, before: &Point, now: &Point) {
        if let (Some(then), Some(host)) = (&before.host, &now.host)
            && then != host
        {
            let reason = format!("the baseline is of another machine: {then}; this is {host}");
            return self.not_compared.push(uncompared(now, reason));
        }
        match (before.is_measured(), now.is_measured()) {
            (true, true) => self.add_measured(before, now),
            (true, false) if now.is_broken() => self.regressions.push(failure(before, now)),
            (true, false) => self.missing.push(uncompared(now, now.ended())),
            (false, true) if before.is_broken() => self.improvements.push(failure(before, now)),
            (false, true) => {
                self.new.push(uncompared(now, format!("the baseline has it {}", before.ended())));
            }
            (false, false) => self.not_compared.push(uncompared(now, now.ended())),
        }
    }

    fn add_measured(&mut self, before: &Point, now: &Point) {
        let entries = |changes: &Self| {
            changes.regressions.len()
                + changes.improvements.len()
                + changes.inconclusive.len()
                + changes.not_compared.len()
        };
        let known = entries(self);
        self.add_time(before, now);
        self.add_accuracy(before, now);
        self.unchanged += usize::from(entries(self) == known);
    }

    fn add_time(&mut self, before: &Point, now: &Point) {
        let without = |when: &str, point: &Point| {
            let reason = point.reason.as_deref().unwrap_or("the record does not say why");
            uncompared(now, format!("no time {when}: {reason}"))
        };
        let (earlier, own) = match (&before.time, &now.time) {
            (Some(earlier), Some(own)) => (earlier, own),
            (_, None) => return self.not_compared.push(without("now", now)),
            (None, _) => return self.not_compared.push(without("in the baseline", before)),
        };
        let ratio = match own.over(earlier) {
            Ok(ratio) => ratio,
            Err(reason) => return self.not_compared.push(uncompared(now, reason)),
        };
        let limit = 1.0 + self.thresholds.latency;
        let list = if ratio.ratio > limit {
            if ratio.low > 1.0 { &mut self.regressions } else { &mut self.inconclusive }
        } else if ratio.ratio < 1.0 / limit {
            if ratio.high < 1.0 { &mut self.improvements } else { &mut self.inconclusive }
        } else {
            return;
        };
        let change = Change::Latency {
            before_ns: earlier.median_ns,
            after_ns: own.median_ns,
            ratio,
            confidence_level: own.confidence_level,
        };
        list.push(Changed { full_id: now.full_id.clone(), change });
    }

    /// The relative error is the RMSE over the reference's own root mean square, so that a drift of
    /// one is a drift of the other and needs no unit; where the reference is zero all over it is no
    /// number, and the RMSE itself is compared.
    fn add_accuracy(&mut self, before: &Point, now: &Point) {
        let relative = before.relative_error.zip(now.relative_error);
        let rmse = before.rmse.zip(now.rmse);
        let without_scale = |(a, b): &(f64, f64)| !a.is_finite() && !b.is_finite();
        let (measure, (before_error, after)) = match (relative, rmse) {
            (Some(pair), Some(rmse)) if without_scale(&pair) => ("rmse", rmse),
            (Some(pair), _) => ("relative_error", pair),
            (None, _) => {
                if let Some(reason) = no_reference(before, now) {
                    self.not_compared.push(uncompared(now, reason));
                }
                return;
            }
        };
        // Infinity and NaN are worse than any number, and no better than each other.
        let rank = |error: f64| if error.is_finite() { error } else { f64::INFINITY };
        let (old, new) = (rank(before_error), rank(after));
        let list = if new > old + self.thresholds.accuracy {
            &mut self.regressions
        } else if old > new + self.thresholds.accuracy {
            &mut self.improvements
        } else {
            return;
        };
        let change = Change::Accuracy { measure, before: before_error, after };
        list.push(Changed { full_id: now.full_id.clone(), change });
    }
}

fn failure(before: &Point, now: &Point) -> Changed {
    let change = Change::Failure { before: before.ended(), after: now.ended() };
    Changed { full_id: now.full_id.clone(), change }
}

/// Why the errors of the two times are not compared, if only one of them has any.
fn no_reference(before: &Point, now: &Point) -> Option<String> {
    match (before.relative_error, now.relative_error) {
        (Some(_), None) => Some("its output is compared with no reference any more".to_owned()),
        // Without one earlier it is a proof that was not there, which takes nothing away.
        _ => None,
    }
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;

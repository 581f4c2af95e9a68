//! Speed against accuracy: which cases of a group no sibling beats in both.

use std::collections::HashMap;

use plan::{Implementation, Outcome};

use crate::model::Row;
use crate::read::Report;

/// Whether a case is on the Pareto front of its siblings, by full id, of all cases that have a speed-up and an accuracy:
/// none is at least as good in both and better in one. Point estimates decide; the intervals of two neighbours may
/// overlap. Siblings, which share group and parameter, are weighed against each other whether a report shows them or not.
pub fn fronts(report: &Report) -> HashMap<&str, bool> {
    let mut siblings: HashMap<_, Vec<(&str, (f64, f64))>> = HashMap::new();
    for place in 0..report.rows().len() {
        let entry = report.entry(place);
        let Some(accuracy) = entry.row.accuracy().filter(|_| competes(entry.row)) else {
            continue;
        };
        let speedup = match entry.comparison.map(|it| &it.speedup) {
            None => 1.0,
            Some(Ok(speedup)) => speedup.ratio,
            Some(Err(_)) => continue,
        };
        // Infinite where nothing differs from the reference.
        let sqnr_db = accuracy.sqnr_db.0;
        if !sqnr_db.is_nan() {
            let id = &entry.row.record.case.id;
            let own = siblings.entry((&id.group, &id.parameter)).or_default();
            own.push((entry.row.full_id(), (speedup, sqnr_db)));
        }
    }
    let mut fronts = HashMap::new();
    for own in siblings.into_values() {
        let (ids, points): (Vec<&str>, Vec<(f64, f64)>) = own.into_iter().unzip();
        fronts.extend(ids.into_iter().zip(front(&points)));
    }
    fronts
}

/// Whether a case is one that could be chosen: `stream` computes nothing and is a limit only.
fn competes(row: &Row) -> bool {
    let operator = row.record.case.work.operator();
    row.record.outcome == Outcome::Measured
        && operator.is_none_or(|work| work.implementation != Implementation::Stream)
}

/// For each point, whether no other is at least as high in both coordinates and higher in one. Equal
/// points are on the front together.
fn front(points: &[(f64, f64)]) -> Vec<bool> {
    let beaten =
        |&(x, y): &(f64, f64)| points.iter().any(|&(a, b)| a >= x && b >= y && (a > x || b > y));
    points.iter().map(|point| !beaten(point)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nothing_beats_is_on_the_front() {
        const INF: f64 = f64::INFINITY;
        for (what, points, expected) in [
            ("nothing", vec![], vec![]),
            ("one alone", vec![(0.5, 3.0)], vec![true]),
            ("a chain", vec![(1.0, 50.0), (2.0, 30.0), (3.0, 10.0)], vec![true; 3]),
            ("one beaten in both", vec![(1.0, 50.0), (0.9, 40.0)], vec![true, false]),
            ("one beaten in one", vec![(1.0, 50.0), (1.0, 40.0)], vec![true, false]),
            (
                "two equal ones",
                vec![(1.5, 20.0), (1.5, 20.0), (1.4, 20.0)],
                vec![true, true, false],
            ),
            ("exact ones", vec![(1.0, INF), (1.2, INF), (2.0, 40.0)], vec![false, true, true]),
        ] {
            assert_eq!(front(&points), expected, "{what}");
        }
    }
}

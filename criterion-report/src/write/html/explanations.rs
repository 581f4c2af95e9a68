//! Explanations as the page's script reads them.

use serde::Serialize;

use super::data::Figure;
use crate::model::explain::{
    Bound, Change, Changed, Difference, Explanation, Part, PartKind, Statement, StepLimit,
};
use crate::{units, visible};

/// Operations in the difference to a baseline that have a line of their own.
const SHOWN: usize = 8;

/// Why a case takes its time, in words.
#[derive(Debug, Serialize)]
pub struct Panel {
    /// The most important statement first.
    statements: Vec<String>,
    limit: Option<String>,
    /// Kind, name, share of the time and time.
    parts: Vec<(PartKind, String, Figure, String)>,
    difference: Option<Versus>,
    notes: Vec<String>,
}

/// What differs from the baseline.
#[derive(Debug, Serialize)]
struct Versus {
    head: String,
    /// Share of the difference, then texts: operation, change, times of both, difference.
    lines: Vec<Line>,
}

type Line = (Option<Figure>, [String; 4]);

impl Panel {
    /// None of a case whose time nothing is known about.
    pub fn of(of: &Explanation) -> Option<Self> {
        let is_known = |it: &Statement| !matches!(it, Statement::Unexplained { .. });
        if of.profile.is_none() && !of.primary().is_some_and(is_known) {
            return None;
        }
        let parts =
            of.parts.iter().map(|it| (it.kind, part(it), Figure(it.share), units::time(it.ns)));
        Some(Self {
            statements: of.statements.iter().map(|it| shown(&it.to_string())).collect(),
            limit: of.limit.as_ref().map(limit),
            parts: parts.collect(),
            difference: of.difference.as_ref().map(versus),
            notes: of.cautions.iter().chain(&of.no_difference).map(|note| shown(note)).collect(),
        })
    }
}

/// `converting a weight (aten::copy_)`
fn part(of: &Part) -> String {
    let kind = match of.kind {
        PartKind::PageFaults => "page faults",
        PartKind::WeightConversion => "converting a weight",
        PartKind::MemoryLimit => "bytes at the measured bandwidth",
        PartKind::ComputeLimit => "arithmetic at the measured peak",
        PartKind::CallOverhead => "calling operations",
        PartKind::IdleThreads => "idle threads",
        PartKind::OutsideOperations => "outside recorded operations",
        PartKind::Unexplained => "unexplained",
    };
    match &of.operation {
        Some(operation) => shown(&format!("{kind} ({operation})")),
        None => kind.to_owned(),
    }
}

fn shown(text: &str) -> String {
    visible::line(text).into_owned()
}

/// `The limit of this machine is 1.200 ms: bytes at the 20.1 GB/s of memory. The case reaches 93 % of it.`
fn limit(of: &StepLimit) -> String {
    let rate = |value: f64| units::significant(value, 3);
    let by = match of.bound {
        Bound::Memory => of.bandwidth_gbps.map(|gbps| {
            let level = of.level.as_deref().unwrap_or("memory");
            format!(": its bytes at the {} GB/s of {level}", rate(gbps))
        }),
        Bound::Compute => of
            .peak_gflops
            .map(|gflops| format!(": its operations at the {} GFLOP/s of a product", rate(gflops))),
    };
    let share = 100.0 * of.share;
    shown(&format!(
        "The limit of this machine is {}{}. The case reaches {share:.0} % of it.",
        units::time(of.ns),
        by.unwrap_or_default()
    ))
}

fn versus(of: &Difference) -> Versus {
    let sign = if of.difference_ns < 0.0 { "less" } else { "more" };
    let difference = units::time(of.difference_ns.abs());
    // What has no name comes last, and is always shown.
    let named = of.operations.iter().take_while(|it| it.operation.is_some()).count();
    let (named, rest) = of.operations.split_at(named);
    let (first, others) = named.split_at(named.len().min(SHOWN));
    let mut lines: Vec<Line> = first.iter().map(changed).collect();
    lines.extend((!others.is_empty()).then(|| sum(others)));
    lines.extend(rest.iter().map(changed));
    Versus { head: shown(&format!("{difference} {sign} than the baseline")), lines }
}

fn changed(of: &Changed) -> Line {
    let change = match of.change {
        Change::Added => "added",
        Change::Removed => "removed",
        Change::Changed => "changed",
        Change::Outside => "outside operations",
        Change::Remainder => "remainder",
    };
    match &of.operation {
        Some(name) => line(shown(name), change, of),
        None => line(change.to_owned(), "", of),
    }
}

/// Several operations as one.
fn sum(of: &[Changed]) -> Line {
    let ns = |part: fn(&Changed) -> f64| of.iter().map(part).sum();
    let all = Changed {
        baseline_ns: ns(|it| it.baseline_ns),
        ns: ns(|it| it.ns),
        difference_ns: ns(|it| it.difference_ns),
        share: of.iter().map(|it| it.share).sum(),
        ..of[0].clone()
    };
    line(format!("{} others", of.len()), "", &all)
}

fn line(name: String, change: &str, of: &Changed) -> Line {
    let sign = if of.difference_ns < 0.0 { "−" } else { "+" };
    let texts = [
        name,
        change.to_owned(),
        format!("{} → {}", units::time(of.baseline_ns), units::time(of.ns)),
        format!("{sign}{}", units::time(of.difference_ns.abs())),
    ];
    (of.share.map(Figure), texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(place: usize, ns: f64) -> Changed {
        Changed {
            change: Change::Added,
            operation: Some(format!("aten::op{place}")),
            shapes: None,
            baseline_calls: 0.0,
            calls: 1.0,
            baseline_ns: 0.0,
            ns,
            difference_ns: ns,
            share: Some(ns / 100.0),
        }
    }

    /// Whatever is put together, the lines account for the whole difference.
    #[test]
    fn lines_of_a_difference_add_up() {
        let mut operations: Vec<Changed> =
            (0..12).map(|place| operation(place, 10.0 - place as f64 / 2.0)).collect();
        let named: f64 = operations.iter().map(|it| it.ns).sum();
        let rest =
            Changed { change: Change::Outside, operation: None, ..operation(0, 100.0 - named) };
        operations.push(rest);
        let difference = Difference {
            baseline: "a".to_owned(),
            baseline_ns: 50.0,
            difference_ns: 100.0,
            speedup_factor: None,
            operations,
        };
        let Versus { head, lines } = versus(&difference);
        assert_eq!(head, "100.0 ns more than the baseline");
        let names: Vec<&str> = lines.iter().map(|(_, texts)| texts[0].as_str()).collect();
        assert_eq!(names[SHOWN..], ["4 others", "outside operations"]);
        let sum: f64 = lines.iter().filter_map(|(share, _)| Some(share.as_ref()?.0)).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{sum}");
        assert_eq!(lines[0].1[3], "+10.00 ns");
    }
}

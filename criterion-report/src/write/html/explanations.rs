//! Explanations as the page's script reads them.

use serde::Serialize;

use super::data::Figure;
use crate::model::explain::{
    Bound, Change, Changed, Difference, Explanation, Part, PartKind, Statement, StepLimit,
};
use crate::model::gather;
use crate::{units, visible};

/// Operations that are named beside a kind of parts.
const NAMED: usize = 3;
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
        let no_limit = of.no_limit.iter().filter(|_| of.profile.is_some());
        let notes = of.cautions.iter().chain(&of.no_difference).chain(no_limit);
        Some(Self {
            statements: of.statements.iter().map(|it| shown(&it.to_string())).collect(),
            limit: of.limit.as_ref().map(limit),
            parts: parts(&of.parts),
            difference: of.difference.as_ref().map(versus),
            notes: notes.map(|note| shown(note)).collect(),
        })
    }
}

/// The parts of one kind together, the longest first.
fn parts(of: &[Part]) -> Vec<(PartKind, String, Figure, String)> {
    let ns = |parts: &[&Part]| parts.iter().map(|it| it.ns).sum::<f64>();
    let mut kinds = gather(of, |it| it.kind);
    kinds.sort_by(|a, b| ns(b).total_cmp(&ns(a)));
    let part = |parts: Vec<&Part>| {
        let share = parts.iter().map(|it| it.share).sum();
        (parts[0].kind, name(&parts), Figure(share), units::time(ns(&parts)))
    };
    kinds.into_iter().map(part).collect()
}

/// `converting a weight (aten::copy_, aten::to)`
fn name(parts: &[&Part]) -> String {
    let kind = match parts[0].kind {
        PartKind::PageFaults => "page faults",
        PartKind::WeightConversion => "converting a weight",
        PartKind::MemoryLimit => "bytes at the measured bandwidth",
        PartKind::ComputeLimit => "arithmetic at the measured peak",
        PartKind::CallOverhead => "calling operations",
        PartKind::IdleThreads => "idle threads",
        PartKind::OutsideOperations => "outside recorded operations",
        PartKind::Unexplained => "unexplained",
    };
    let operations: Vec<&str> = parts.iter().filter_map(|it| it.operation.as_deref()).collect();
    let (first, others) = operations.split_at(operations.len().min(NAMED));
    let mut names: Vec<String> = first.iter().map(|it| (*it).to_owned()).collect();
    names.extend((!others.is_empty()).then(|| units::count(others.len(), "other")));
    match names.is_empty() {
        true => kind.to_owned(),
        false => shown(&format!("{kind} ({})", names.join(", "))),
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

    #[test]
    fn parts_of_a_kind_are_one_line() {
        let part = |kind, operation: &str, share: f64| Part {
            kind,
            operation: Some(operation.to_owned()).filter(|it| !it.is_empty()),
            ns: 1000.0 * share,
            share,
        };
        let of = [
            part(PartKind::WeightConversion, "aten::copy_", 0.4),
            part(PartKind::Unexplained, "aten::a", 0.25),
            part(PartKind::Unexplained, "aten::b", 0.2),
            part(PartKind::IdleThreads, "", 0.125),
            part(PartKind::Unexplained, "aten::c", 0.0125),
            part(PartKind::Unexplained, "aten::d", 0.0125),
        ];
        let lines = parts(&of);
        let names: Vec<&str> = lines.iter().map(|(_, name, ..)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "unexplained (aten::a, aten::b, aten::c, 1 other)",
                "converting a weight (aten::copy_)",
                "idle threads"
            ]
        );
        assert_eq!(lines[0].3, "475.0 ns");
        let sum: f64 = lines.iter().map(|(_, _, share, _)| share.0).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{sum}");
    }

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

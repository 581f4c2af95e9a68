//! Explanations as the page's script reads them.

use serde::Serialize;

use super::data::Figure;
use crate::model::explain::{Bound, Change, Changed, Difference, Explanation, PartKind, StepLimit};
use crate::write::why;
use crate::{units, visible};

/// Lines of the parts, and of the difference to a baseline.
const SHOWN: usize = 8;

/// Why a case takes its time, in words.
#[derive(Debug, Serialize)]
pub struct Panel {
    /// The most important statement first.
    statements: Vec<String>,
    limit: Option<String>,
    /// Kind, name, share of the time and time; the others of a kind are one.
    parts: Vec<(PartKind, String, Figure, String)>,
    difference: Option<Versus>,
    notes: Vec<String>,
}

/// What differs from the baseline.
#[derive(Debug, Serialize)]
struct Versus {
    head: String,
    /// Share of the difference, then texts: operation, change, times of both, difference.
    lines: Vec<(Option<Figure>, [String; 4])>,
}

impl Panel {
    /// None of an explanation that says nothing.
    pub fn of(explanation: &Explanation) -> Option<Self> {
        let of = explanation;
        let statements: Vec<String> =
            of.statements.iter().map(|it| shown(&why::statement(it))).collect();
        let command =
            of.profile_command.iter().map(|it| format!("More is known with a profile: {it}"));
        let others = [&of.no_limit, &of.no_difference].into_iter().flatten().cloned();
        let notes = of.cautions.iter().cloned().chain(others).chain(command);
        let parts = of
            .parts
            .iter()
            .map(|it| (it.kind, shown(&why::part(it)), Figure(it.share), units::time(it.ns)));
        (!statements.is_empty()).then(|| Self {
            statements,
            limit: of.limit.as_ref().map(limit),
            parts: parts.collect(),
            difference: of.difference.as_ref().map(versus),
            notes: notes.map(|note| shown(&note)).collect(),
        })
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
    let lines = of.operations.iter();
    Versus {
        head: shown(&format!("{difference} {sign} than the baseline")),
        lines: lines.take(SHOWN).map(changed).collect(),
    }
}

fn changed(of: &Changed) -> (Option<Figure>, [String; 4]) {
    let change = match of.change {
        Change::Added => "added",
        Change::Removed => "removed",
        Change::Changed => "changed",
        Change::Outside => "outside operations",
        Change::Remainder => "remainder",
    };
    let name = of.operation.as_deref().unwrap_or(change);
    let sign = if of.difference_ns < 0.0 { "−" } else { "+" };
    let texts = [
        shown(name),
        if of.operation.is_some() { change.to_owned() } else { String::new() },
        format!("{} → {}", units::time(of.baseline_ns), units::time(of.ns)),
        format!("{sign}{}", units::time(of.difference_ns.abs())),
    ];
    (of.share.map(Figure), texts)
}

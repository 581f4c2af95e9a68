//! Explanations in the form that the page's script reads.

use serde::Serialize;

use super::figures::Figure;
use crate::model::gather;
use crate::order::Order as _;
use crate::render::units;
use crate::views::explain::text::words;
use crate::views::explain::{Difference, Explanation, Part, PartKind, Statement};
use crate::visible;

/// Number of operations that are named with a kind of parts.
const NAMED: usize = 3;

/// Why a case takes its time, in words.
#[derive(Debug, Serialize)]
pub struct Panel {
    /// The most important statement first.
    statements: Vec<String>,
    /// Other facts, each with its label.
    facts: Vec<(&'static str, String)>,
    /// Kind, name, share of the time and time.
    parts: Vec<(PartKind, String, Figure, String)>,
    difference: Option<Versus>,
}

/// The difference from the baseline.
#[derive(Debug, Serialize)]
struct Versus {
    head: String,
    /// Operation, change, calls, difference, share of it.
    lines: Vec<[String; 5]>,
}

impl Panel {
    /// `None` if nothing is known about the case's time.
    pub fn from_explanation(of: &Explanation) -> Option<Self> {
        let is_known = |it: &Statement| !matches!(it, Statement::Unexplained { .. });
        let profiled = of.profile.is_some();
        if !profiled && !of.primary().is_some_and(is_known) {
            return None;
        }
        // The statements are shown above. The command that takes a profile would be repeated for every case without
        // one.
        let notes = words::notes(of).into_iter().filter(|_| profiled);
        let facts = words::facts(of).into_iter().filter(|(label, _)| *label != "also").chain(notes);
        Some(Self {
            statements: of.statements.iter().map(|it| shown(&it.to_string())).collect(),
            facts: facts.map(|(label, text)| (label, shown(&text))).collect(),
            parts: parts(&of.parts),
            difference: of.difference.as_ref().map(versus),
        })
    }
}

/// The parts of one kind together, the longest first.
fn parts(of: &[Part]) -> Vec<(PartKind, String, Figure, String)> {
    let ns = |parts: &[&Part]| parts.iter().map(|it| it.ns).sum::<f64>();
    let mut kinds = gather(of, |it| it.kind);
    kinds.order_by(|a, b| ns(b).total_cmp(&ns(a)));
    let part = |parts: Vec<&Part>| {
        let share = parts.iter().map(|it| it.share).sum();
        (parts[0].kind, name(&parts), Figure(share), units::time(ns(&parts)))
    };
    kinds.into_iter().map(part).collect()
}

/// `weight conversion: aten::copy_, aten::to`
fn name(parts: &[&Part]) -> String {
    let kind = parts[0].kind;
    let operations: Vec<&str> = parts.iter().filter_map(|it| it.operation.as_deref()).collect();
    let (first, others) = operations.split_at(operations.len().min(NAMED));
    let mut names: Vec<String> = first.iter().map(|it| (*it).to_owned()).collect();
    names.extend((!others.is_empty()).then(|| units::count(others.len(), "other")));
    match names.is_empty() {
        true => kind.to_string(),
        false => shown(&format!("{kind}: {}", names.join(", "))),
    }
}

fn versus(of: &Difference) -> Versus {
    let line = |[difference, share, change, calls, operation]: [String; 5]| {
        [shown(&operation), change, calls, difference, share]
    };
    let lines = words::changes(of).into_iter().map(line).collect();
    Versus { head: shown(&format!("Against {}", words::versus(of))), lines }
}

fn shown(text: &str) -> String {
    visible::line(text).into_owned()
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
                "unexplained: aten::a, aten::b, aten::c, 1 other",
                "weight conversion: aten::copy_",
                "idle threads"
            ]
        );
        assert_eq!(lines[0].3, "475.0 ns");
        let sum: f64 = lines.iter().map(|(_, _, share, _)| share.0).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{sum}");
    }
}

//! The table for a terminal: cases by verdict, the worst first, each with its reason below.

use rayon::prelude::*;

use super::Look;
use super::text;
use crate::model::compare::{Compared, Comparison, Finding, Verdict};
use crate::units;
use crate::write::{Align, Cell, Line, Paint, render, wrap};

const COLUMNS: &[(&str, Align)] = &[
    ("case", Align::Left),
    ("measure", Align::Left),
    ("A", Align::Right),
    ("B", Align::Right),
    ("B / A", Align::Left),
];
const INDENT: usize = 2;
/// Columns of what is no terminal.
const WIDTH: usize = 100;

/// The whole text.
pub fn write(comparison: &Comparison, look: Look) -> String {
    let width = look.width.unwrap_or(WIDTH);
    let mut out = header(comparison, width, look.colour);
    for verdict in Verdict::ALL {
        let cases = comparison.of_verdict(verdict);
        if cases.is_empty() || (verdict == Verdict::Equivalent && !look.all) {
            continue;
        }
        let title = format!("{} ({})", verdict.word(), cases.len());
        out.push_str(&format!("\n{}\n", paint(verdict).on(&title, look.colour)));
        let lines: Vec<Line> = cases.par_iter().flat_map_iter(|case| lines(case, width)).collect();
        out.push_str(&render(COLUMNS, &lines, INDENT, width, look.colour));
    }
    out.push_str(&summary(comparison, look));
    out
}

fn header(comparison: &Comparison, width: usize, colour: bool) -> String {
    let title = format!("A {} against B {}", text::side(&comparison.a), text::side(&comparison.b));
    let mut out = format!("{}\n", Paint::Bold.on(&title, colour));
    let remarks = text::floors(comparison);
    for line in std::iter::once(text::rule(comparison)).chain(remarks) {
        for part in wrap(&line, width) {
            out.push_str(&format!("{}\n", Paint::Dim.on(&part, colour)));
        }
    }
    out
}

fn lines(case: &Compared, width: usize) -> Vec<Line> {
    let decisive: Vec<&Finding> =
        case.findings.iter().filter(|finding| finding.verdict == case.verdict).collect();
    let with_values: Vec<&&Finding> =
        decisive.iter().filter(|finding| finding.a.is_some() || finding.b.is_some()).collect();
    let mut lines = Vec::new();
    for (place, finding) in with_values.iter().enumerate() {
        let id = if place == 0 { case.full_id.as_str() } else { "" };
        lines.push(Line::Cells(vec![
            id.into(),
            finding.name.into(),
            text::value(finding.measure, finding.a).into(),
            text::value(finding.measure, finding.b).into(),
            Cell::new(text::ratio(finding), paint(case.verdict)),
        ]));
    }
    if with_values.is_empty() {
        lines.push(Line::Cells(vec![case.full_id.as_str().into()]));
    }
    if case.verdict != Verdict::Equivalent {
        lines.extend(remark(&case.reason, Paint::Dim, width));
    }
    lines.extend(
        case.cautions.iter().flat_map(|it| remark(&format!("caution: {it}"), Paint::Warn, width)),
    );
    lines
}

fn remark(text: &str, paint: Paint, width: usize) -> Vec<Line> {
    const INDENT: &str = "      ";
    let parts = wrap(text, width.saturating_sub(INDENT.len()));
    let line = |part: String| Line::Text(Cell::new(format!("{INDENT}{part}"), paint));
    parts.into_iter().map(line).collect()
}

fn summary(comparison: &Comparison, look: Look) -> String {
    let hidden = comparison.count(Verdict::Equivalent) > 0 && !look.all;
    let hint = if hidden { " (--all shows those)" } else { "" };
    let cases = units::count(comparison.cases.len(), "case");
    format!("\n{cases}: {}{hint}\n", text::counts(comparison))
}

const fn paint(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::Regressed | Verdict::Missing => Paint::Bad,
        Verdict::Inconclusive => Paint::Warn,
        Verdict::Improved => Paint::Good,
        Verdict::New | Verdict::Equivalent | Verdict::NotCompared => Paint::Plain,
    }
}

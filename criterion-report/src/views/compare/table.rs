//! The table for a terminal: cases by verdict, the worst first, each with its reason below.

use std::collections::{HashMap, HashSet};

use super::Look;
use super::text;
use crate::compare::{Compared, Comparison, Finding, Verdict};
use crate::parallel;
use crate::render::table::{Align, Cell, Line, Paint, render, screen, table_width, wrap};
use crate::render::units;
use crate::views::footnotes::Footnotes;

const COLUMNS: &[(&str, Align)] = &[
    ("case", Align::Left),
    ("measure", Align::Left),
    ("A", Align::Right),
    ("B", Align::Right),
    ("B / A", Align::Left),
    ("", Align::Left),
];
const INDENT: usize = 2;
/// The indentation of reasons and cautions.
const REMARK: &str = "      ";
/// Columns of what is no terminal.
const WIDTH: usize = 100;

pub fn write(comparison: &Comparison, look: Look) -> String {
    let width = look.width.unwrap_or(WIDTH);
    let mut out = header(comparison, look, width);
    let sections: Vec<(Verdict, usize, Vec<Line>, String)> = Verdict::ALL
        .iter()
        .copied()
        .filter(|verdict| shows(*verdict, look))
        .map(|verdict| {
            let cases = comparison.of_verdict(verdict);
            let (marks, footnotes) = shared(&cases, look.details);
            let of_case = |case: &&Compared| lines(case, width, look.details, &marks);
            let lines = parallel::map(&cases, of_case).into_iter().flatten().collect();
            (verdict, cases.len(), lines, footnotes.render(width, look.colour))
        })
        .filter(|(_, cases, ..)| *cases > 0)
        .collect();
    // One layout for all sections. Files have room for all columns.
    let fits = |lines: &[Line], room: usize| table_width(COLUMNS, lines, INDENT) <= room;
    let narrow =
        look.width.is_some_and(|room| !sections.iter().all(|(_, _, lines, _)| fits(lines, room)));
    for (verdict, cases, lines, footnotes) in sections {
        let title = format!("{} ({cases})", verdict.word());
        out.push_str(&format!("\n{}\n", paint(verdict).on(&title, look.colour)));
        out.push_str(&if narrow {
            let lines: Vec<Line> = lines.into_iter().flat_map(below_id).collect();
            render(&COLUMNS[1..], &lines, REMARK.len(), width, look.colour)
        } else {
            render(COLUMNS, &lines, INDENT, width, look.colour)
        });
        out.push_str(&footnotes);
    }
    out.push_str(&summary(comparison, look));
    screen(&out, look.colour)
}

fn shows(verdict: Verdict, look: Look) -> bool {
    verdict != Verdict::Equivalent || look.all
}

/// For a terminal on which the id leaves no room: the id in a line of its own, its values below.
fn below_id(line: Line) -> Vec<Line> {
    match line {
        Line::Cells(mut cells) => {
            let values = cells.split_off(1);
            let id = cells.remove(0);
            let id = Cell { text: format!("{}{}", " ".repeat(INDENT), id.text), ..id };
            let id = (!id.text.trim().is_empty()).then_some(Line::Text(id));
            let is_empty = values.iter().all(|it| it.text.is_empty());
            let values = (!is_empty).then_some(Line::Cells(values));
            id.into_iter().chain(values).collect()
        }
        other => vec![other],
    }
}

fn header(comparison: &Comparison, look: Look, width: usize) -> String {
    let colour = look.colour;
    let title = format!("A {} against B {}", text::side(&comparison.a), text::side(&comparison.b));
    let mut out = String::new();
    for part in wrap(&title, look.width.unwrap_or(usize::MAX)) {
        out.push_str(&format!("{}\n", Paint::Bold.on(&part, colour)));
    }
    for part in text::hosts(comparison).iter().flat_map(|line| wrap(line, width)) {
        out.push_str(&format!("{}\n", Paint::Warn.on(&part, colour)));
    }
    let remarks = text::floors(comparison);
    for line in std::iter::once(text::rule(comparison)).chain(remarks) {
        for part in wrap(&line, width) {
            out.push_str(&format!("{}\n", Paint::Dim.on(&part, colour)));
        }
    }
    out
}

/// Why the verdict is so, and what qualifies the numbers.
fn remarks(case: &Compared, details: bool) -> impl Iterator<Item = (String, Paint)> {
    let reason = (case.verdict != Verdict::Equivalent).then(|| (case.reason.clone(), Paint::Dim));
    let cautions = text::cautions(case, details).iter();
    reason.into_iter().chain(cautions.map(|it| (format!("caution: {it}"), Paint::Warn)))
}

/// The marks of remarks that several cases share: they stand below the table, once.
fn shared(cases: &[&Compared], details: bool) -> (HashMap<String, String>, Footnotes) {
    let mut footnotes = Footnotes::default();
    footnotes.whole = details;
    let (mut seen, mut marks) = (HashSet::new(), HashMap::new());
    for (text, _) in cases.iter().flat_map(|case| remarks(case, details)) {
        if !seen.insert(text.clone()) && !marks.contains_key(&text) {
            marks.insert(text.clone(), footnotes.mark(text));
        }
    }
    (marks, footnotes)
}

fn lines(
    case: &Compared,
    width: usize,
    details: bool,
    shared: &HashMap<String, String>,
) -> Vec<Line> {
    let (marked, own): (Vec<_>, Vec<_>) =
        remarks(case, details).partition(|(text, _)| shared.contains_key(text));
    let marks: Vec<&str> = marked.iter().map(|(text, _)| &*shared[text]).collect();
    let marks = Cell::new(marks.join(" "), Paint::Warn);
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
            if place == 0 { marks.clone() } else { Cell::default() },
        ]));
    }
    if with_values.is_empty() {
        let mut cells = vec![Cell::default(); COLUMNS.len()];
        (cells[0], cells[COLUMNS.len() - 1]) = (case.full_id.as_str().into(), marks);
        lines.push(Line::Cells(cells));
    }
    lines.extend(own.iter().flat_map(|(text, paint)| remark(text, *paint, width)));
    lines
}

fn remark(text: &str, paint: Paint, width: usize) -> Vec<Line> {
    let parts = wrap(text, width.saturating_sub(REMARK.len()));
    let line = |part: String| Line::Text(Cell::new(format!("{REMARK}{part}"), paint));
    parts.into_iter().map(line).collect()
}

fn summary(comparison: &Comparison, look: Look) -> String {
    let width = look.width.unwrap_or(usize::MAX);
    let hidden = comparison.count(Verdict::Equivalent) > 0 && !look.all;
    let hint = if hidden { " (--all shows those)" } else { "" };
    let cases = units::count(comparison.cases.len(), "case");
    let counts = format!("{cases}: {}{hint}", text::counts(comparison));
    let shown = comparison.cases.iter().filter(|case| shows(case.verdict, look));
    let cautions = text::hidden_cautions(shown, look.details);
    let lines = std::iter::once(counts).chain(cautions).flat_map(|line| wrap(&line, width));
    lines.fold("\n".to_owned(), |out, line| out + &line + "\n")
}

const fn paint(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::Regressed | Verdict::Missing => Paint::Bad,
        Verdict::Inconclusive => Paint::Warn,
        Verdict::Improved => Paint::Good,
        Verdict::New | Verdict::Equivalent | Verdict::NotCompared => Paint::Plain,
    }
}

//! What an implementation's cases amount to: over all of them, and along one dimension.

use plan::Implementation;

use super::Room;
use super::block::{Block, place};
use super::table::SIGNS;
use crate::model::{Axis, Mean, Summary};
use crate::units;
use crate::write::table::{Align, Cell, Line, Paint, render, wrap};

/// The columns behind the first one.
const COLUMNS: [(&str, Align); 11] = [
    ("speed-up", Align::Right),
    ("lowest", Align::Right),
    ("highest", Align::Right),
    (SIGNS[0], Align::Right),
    (SIGNS[1], Align::Right),
    (SIGNS[2], Align::Right),
    (SIGNS[3], Align::Right),
    ("cases", Align::Right),
    ("of limit", Align::Right),
    ("cases", Align::Right),
    ("", Align::Left),
];
const INDENT: usize = 4;

/// A line per implementation, over all operators and sizes of one config, dtype and place.
pub fn summary(block: &Block<'_, '_>, Room { width, colour, .. }: Room) -> String {
    let config = &block[0].row.record.case.config;
    let title = Paint::Bold.on(&format!("summary of {config}"), colour);
    let lines: Vec<Line> = Summary::all(block)
        .iter()
        .map(|summary| line(summary.implementation.as_str().into(), summary))
        .collect();
    let place = Paint::Dim.on(&place(block), colour);
    format!("{title}\n  {place}\n{}", render(&columns(""), &lines, INDENT, width, colour))
}

/// Per implementation of one operator a line for each value along the axis.
pub fn along(axis: Axis, block: &Block<'_, '_>, Room { width, colour, .. }: Room) -> String {
    let mut lines = Vec::new();
    let mut uneven = Vec::new();
    for &implementation in Implementation::ALL {
        let values = Summary::along(axis, implementation, block);
        if values.is_empty() {
            continue;
        }
        lines.push(Line::Text(Cell::new(format!("  {implementation}"), Paint::Dim)));
        lines.extend(values.iter().map(|(value, it)| line(value.to_string().into(), it)));
        if !is_even(&values) {
            uneven.push(format!("`{implementation}`"));
        }
    }
    let mut out = render(&columns(axis.word()), &lines, INDENT, width, colour);
    if !uneven.is_empty() {
        let text = format!(
            "The means of {} are of different sizes from line to line: where the numbers of cases \
             differ, so do the sizes, and a trend may be theirs.",
            uneven.join(", ")
        );
        for part in wrap(&text, width - INDENT) {
            out.push_str(&format!("    {}\n", Paint::Dim.on(&part, colour)));
        }
    }
    out
}

/// Whether each mean is of as many cases at every value.
fn is_even(values: &[(u64, Summary)]) -> bool {
    let counts = |of: fn(&Summary) -> Option<Mean>| {
        let mut counts: Vec<usize> =
            values.iter().map(|(_, it)| of(it).map_or(0, |mean| mean.count)).collect();
        counts.dedup();
        counts.len()
    };
    counts(|it| it.speedup) == 1 && counts(|it| it.efficiency) == 1
}

fn columns(first: &str) -> Vec<(&str, Align)> {
    std::iter::once((first, Align::Left)).chain(COLUMNS).collect()
}

fn line(first: Cell, summary: &Summary) -> Line {
    let mut cells = vec![first];
    match &summary.speedup {
        Some(Mean { value, lowest, highest, count }) => {
            cells.extend([*value, *lowest, *highest].map(|it| units::ratio(it, None).into()));
            cells.extend(summary.verdicts.map(|count| Cell::from(count.to_string())));
            cells.push(of_cases(*count, summary.cases).into());
        }
        None => cells.extend(vec![Cell::default(); 8]),
    }
    match &summary.efficiency {
        Some(mean) => {
            cells.push(units::percent(mean.value).into());
            cells.push(of_cases(mean.count, summary.cases).into());
        }
        None => cells.extend(vec![Cell::default(); 2]),
    }
    cells.push(Cell::new(remark(summary), Paint::Warn));
    Line::Cells(cells)
}

/// `3 of 4`, or `4` of as many.
fn of_cases(count: usize, cases: usize) -> String {
    if count == cases { count.to_string() } else { format!("{count} of {cases}") }
}

/// What a line without numbers is, and that the limits are not all of one kind.
fn remark(summary: &Summary) -> String {
    let sources: Vec<&str> = summary.sources.iter().copied().collect();
    let nothing = summary.speedup.is_none() && summary.efficiency.is_none();
    match (summary.implementation, sources.as_slice()) {
        (_, [_, _, ..]) => format!("limits of {}", sources.join(" and ")),
        (Implementation::Aten, _) => "baseline".to_owned(),
        _ if nothing => {
            format!("none of {} measured in pairs", units::count(summary.cases, "case"))
        }
        _ => String::new(),
    }
}

//! The summary of an implementation's cases: over all of them, and along one dimension.

use super::Block;
use super::table::SIGNS;
use crate::model::{Axis, Mean, Summary};
use crate::write::show::footnotes::Footnotes;
use crate::write::table::{ABSENT, Align, Cell, Line, Paint};
use crate::write::view::{Heading, Layout, Room, Table};
use crate::{units, words};

const COLUMNS: [Heading; 12] = [
    ("", "", "", Align::Left),
    ("speed-up", "", "", Align::Right),
    ("low", "", "low", Align::Right),
    ("high", "", "high", Align::Right),
    (SIGNS[0], "", "", Align::Right),
    (SIGNS[1], "", "", Align::Right),
    (SIGNS[2], "", "", Align::Right),
    (SIGNS[3], "", "", Align::Right),
    ("cases", "", "", Align::Right),
    ("of limit", "", "", Align::Right),
    ("cases", "", "", Align::Right),
    ("", "", "", Align::Left),
];
/// Columns that give way, in this order, where the table is too wide.
const GIVE_WAY: [usize; 2] = [3, 2];

/// A line per implementation, over all operators and sizes of one config, dtype and place.
pub fn summary(block: &Block<'_, '_>, room: Room) -> Table {
    let of =
        |it: &Summary, footnotes: &mut Footnotes| line(it.variant.as_str().into(), it, footnotes);
    let summaries = Summary::all(block);
    table("", |footnotes| summaries.iter().map(|it| of(it, footnotes)).collect(), room)
}

/// Per implementation of one operator a line for each value along the axis.
pub fn along(axis: Axis, block: &Block<'_, '_>, room: Room) -> Table {
    let lines = |footnotes: &mut Footnotes| {
        let mut lines = Vec::new();
        for contender in Summary::contenders(block) {
            let values = Summary::along(axis, contender, block);
            let Some((_, Summary { variant, .. })) = values.first() else { continue };
            let mark = if is_even(&values) {
                String::new()
            } else {
                let note = "its means cover different sizes, which may explain a trend";
                format!("  {}", footnotes.mark(note.to_owned()))
            };
            lines.push(Line::Text(Cell::new(format!("  {variant}{mark}"), Paint::Dim)));
            let values = values.iter();
            lines.extend(values.map(|(value, it)| line(value.to_string().into(), it, footnotes)));
        }
        lines
    };
    table(&words::of_flag(axis), lines, room)
}

fn table(first: &str, lines: impl Fn(&mut Footnotes) -> Vec<Line>, room: Room) -> Table {
    let headings = [(0, first.to_owned())];
    Layout { columns: &COLUMNS, headings: &headings, give_way: &GIVE_WAY }.table(lines, room)
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

fn line(first: Cell, summary: &Summary, footnotes: &mut Footnotes) -> Line {
    let baseline = summary.is_baseline;
    if summary.speedup.is_none() && summary.efficiency.is_none() && !baseline {
        let text = format!("none of {} measured in pairs", units::count(summary.cases, "case"));
        return Line::Spanning(first, Cell::new(text, Paint::Warn));
    }
    let mut cells = vec![first];
    match &summary.speedup {
        Some(Mean { value, lowest, highest, count }) => {
            cells.extend([*value, *lowest, *highest].map(|it| units::ratio(it, None).into()));
            cells.extend(summary.verdicts.map(|count| Cell::from(count.to_string())));
            cells.push(of_cases(*count, summary.cases).into());
        }
        None => {
            let text = if baseline { "baseline" } else { ABSENT };
            cells.push(Cell::new(text, Paint::Dim));
            cells.extend(vec![Cell::default(); 7]);
        }
    }
    match &summary.efficiency {
        Some(mean) => {
            cells.push(units::percent(mean.value).into());
            cells.push(of_cases(mean.count, summary.cases).into());
        }
        None => cells.extend(vec![Cell::default(); 2]),
    }
    let sources: Vec<&str> = summary.sources.iter().copied().collect();
    let mixed = (sources.len() > 1).then(|| {
        let sources = sources.join(" and ");
        format!("its limits have different sources, {sources}: choose one with --filter")
    });
    cells.push(Cell::new(footnotes.marks(mixed), Paint::Warn));
    Line::Cells(cells)
}

/// `3 of 4`, or `4` of as many.
fn of_cases(count: usize, cases: usize) -> String {
    if count == cases { count.to_string() } else { format!("{count} of {cases}") }
}

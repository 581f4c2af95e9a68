//! The operations of a group's profiled steps, with memory, counters and files.

use plan::Profile;

use super::{ABSENT, INDENT, by_parameter, further};
use crate::model::Entry;
use crate::render::table::{Align, Cell, Line, Paint, table_width};
use crate::render::units;
use crate::views::footnotes::Footnotes;
use crate::views::profile;
use crate::views::view::Room;

/// Operations of a step that have a line of their own.
const SHOWN: usize = 6;
/// The column of shapes, which is shortened if the table is too wide.
const SHAPES: usize = 1;
const COLUMNS: [(&str, Align); 9] = [
    ("profile", Align::Left),
    ("shapes", Align::Left),
    ("calls", Align::Right),
    ("self", Align::Right),
    ("total", Align::Right),
    ("device", Align::Right),
    ("of step", Align::Right),
    ("MFLOP", Align::Right),
    ("inputs", Align::Right),
];

/// A table of the cases that have a profile; nothing without any.
pub fn table(entries: &[Entry<'_>], footnotes: &mut Footnotes, room: Room) -> String {
    let profiled = entries.iter().filter(|entry| entry.row.record.profile.is_some());
    let mut lines = by_parameter(profiled.copied(), |entry| case(entry, footnotes));
    shorten(&mut lines, room.width);
    further(&COLUMNS, &lines, room)
}

/// A case with its operations and its further facts.
fn case(entry: &Entry<'_>, footnotes: &mut Footnotes) -> Vec<Line> {
    let Some(of) = &entry.row.record.profile else { return Vec::new() };
    let head = format!("    {}: {}", entry.row.record.case.variant(), profile::head(of, entry));
    let operations = profile::lines(of, SHOWN).into_iter().map(|it| {
        let percent = it.share.map(units::percent).unwrap_or_default();
        let figures =
            [it.calls, it.self_time, it.total_time, it.device_time, percent, it.mflop, it.bytes];
        let texts = [format!("  {}", it.name), it.shapes].into_iter().chain(figures);
        Line::Cells(texts.map(Cell::from).collect())
    });
    [Line::Text(head.into())]
        .into_iter()
        .chain(operations)
        .chain(facts(of, entry, footnotes))
        .collect()
}

/// Cuts shapes until the table fits.
fn shorten(lines: &mut [Line], width: usize) {
    let shapes = |lines: &[Line]| {
        let cells = lines.iter().filter_map(|line| match line {
            Line::Cells(cells) => Some(cells[SHAPES].text.chars().count()),
            _ => None,
        });
        cells.max().unwrap_or(0)
    };
    let excess = table_width(&COLUMNS, lines, INDENT).saturating_sub(width);
    let heading = COLUMNS[SHAPES].0.len();
    let room = shapes(lines).saturating_sub(excess).max(heading);
    for line in lines {
        let Line::Cells(cells) = line else { continue };
        let text = &mut cells[SHAPES].text;
        if text.chars().count() > room {
            *text = text.chars().take(room - 1).chain(['…']).collect();
        }
    }
}

/// Memory, counters and files; an absent part has a footnote with the reason.
fn facts(of: &Profile, entry: &Entry<'_>, footnotes: &mut Footnotes) -> Vec<Line> {
    let facts = [
        ("device", "device", None),
        ("memory", "memory", profile::memory(of)),
        ("counters", "hardware", profile::counters(of, entry)),
        ("files", "files", profile::files(of)),
    ];
    let line = |(label, part, text): (&str, &str, Option<String>)| {
        let mark = of.absent.get(part).map(|reason| footnotes.mark(reason.to_owned()));
        let text = match (text, mark) {
            (Some(text), None) => text,
            // Some of the files are there.
            (Some(text), Some(mark)) => format!("{text} {mark}"),
            (None, mark) => format!("{ABSENT} {}", mark?),
        };
        Some(Line::Spanning(Cell::new(format!("  {label}"), Paint::Dim), text.into()))
    };
    facts.into_iter().filter_map(line).collect()
}

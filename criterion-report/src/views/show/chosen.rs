//! The columns that the user names in the place of the table's own.

use std::str::FromStr;

use super::{ABSENT, INDENT, by_parameter, notes};
use crate::model::{Entry, Field};
use crate::order::Order as _;
use crate::render::table::{self, Align, Cell, Line, Paint, render, table_width};
use crate::views::choice::Choice;
use crate::views::failures;
use crate::views::footnotes::Footnotes;
use crate::views::view::{Room, paragraph};

#[derive(Debug, Clone, Copy)]
pub struct Sorting {
    by: &'static Field,
    descending: bool,
}

impl FromStr for Sorting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (slug, order) = text.split_once(':').unwrap_or((text, "asc"));
        let descending = match order {
            "asc" => false,
            "desc" => true,
            other => return Err(format!("order `{other}` is neither `asc` nor `desc`")),
        };
        match slug.parse()? {
            Choice::Field(by) => Ok(Self { by, descending }),
            Choice::Help => Err("`--columns help` lists the values".to_owned()),
        }
    }
}

impl Sorting {
    /// Sorts the cases of a group; those without a value come last, and equal ones keep their order.
    pub fn sort(self, entries: &mut [Entry<'_>]) {
        let value = |entry: &Entry<'_>| self.by.figure(entry).map(|figure| figure.value);
        entries.order_by(|a, b| match (value(a), value(b)) {
            (Some(a), Some(b)) if self.descending => b.total_cmp(&a),
            (Some(a), Some(b)) => a.total_cmp(&b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        });
    }
}

/// The table of a group in these columns. Where it is wider than the terminal, intervals go, then
/// the last columns, which are named.
pub fn table(entries: &[Entry<'_>], columns: &[&'static Field], room: Room) -> String {
    let group = &entries[0].row.record.case.id.group;
    let mut out = room.bold(group);
    if let Some(text) = failures::common(entries.iter().map(|entry| entry.row), room) {
        return out + &text;
    }
    let headings = columns.iter().map(|column| (column.name, Align::Right));
    let headings: Vec<(&str, Align)> =
        [("", Align::Left)].into_iter().chain(headings).chain([("", Align::Left)]).collect();
    let fit = |lines: &[Line]| table_width(&headings, lines, INDENT) <= room.width;
    let (mut lines, mut footnotes) =
        Footnotes::new(|footnotes| self::lines(entries, columns, true, footnotes), fit);
    if !fit(&lines) {
        lines = self::lines(entries, columns, false, &mut footnotes);
    }
    let last_first: Vec<usize> = (1..=columns.len()).rev().collect();
    let left_out = table::fit(&headings, &mut lines, INDENT, Some(room.width), &last_first);
    out.push_str(&render(&headings, &lines, INDENT, room.width, room.colour));
    if !left_out.is_empty() {
        let names: Vec<&str> = left_out.iter().rev().map(|&column| headings[column].0).collect();
        let text = format!("no room for: {}", names.join(", "));
        out.push_str(&paragraph(&text, INDENT, Paint::Dim, room));
    }
    out.push_str(&footnotes.render(room.width, room.colour));
    out
}

fn lines(
    entries: &[Entry<'_>],
    columns: &[&'static Field],
    intervals: bool,
    footnotes: &mut Footnotes,
) -> Vec<Line> {
    let shared = failures::shared(entries.iter().map(|entry| entry.row));
    by_parameter(entries.iter().copied(), |entry| {
        let failure = failures::line(entry.row, &shared, footnotes);
        [failure.unwrap_or_else(|| {
            let variant = Cell::from(entry.row.record.case.variant());
            let cells = columns.iter().map(|column| cell(column, entry, intervals));
            let marks = Cell::new(footnotes.marks(notes(entry)), Paint::Warn);
            Line::Cells([variant].into_iter().chain(cells).chain([marks]).collect())
        })]
    })
}

fn cell(field: &Field, entry: &Entry<'_>, intervals: bool) -> Cell {
    let value = field.value(entry);
    value.map_or_else(|| ABSENT.into(), |value| field.text(value, intervals).into())
}

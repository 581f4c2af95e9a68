//! The common part of the views' tables.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use clap::ColorChoice;

use crate::model::{Entry, Row};
use crate::order::Sorted as _;
use crate::read::Report;
use crate::render::table::{
    Align, Cell, Line, NARROWEST, Paint, WIDTH, clear, fit, is_empty, render, table_width, wrap,
};
use crate::render::{markdown, units};
use crate::views::footnotes::{Footnotes, Note};
use crate::views::{footer, header, written::Target};

/// How a view is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Tables for people.
    Table,
    /// JSON for programs.
    Json,
}

impl Format {
    /// Whether it is prose and tables; those say the report's warnings, too.
    pub const fn is_for_people(self) -> bool {
        matches!(self, Self::Table)
    }
}

/// Whether text is coloured; `auto` colours where the output is a terminal that wants it.
pub(crate) const fn is_coloured(when: ColorChoice, auto: bool) -> bool {
    match when {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => auto,
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Room {
    /// Columns of a terminal, for tables: elsewhere they have all their columns.
    pub terminal: Option<usize>,
    /// Columns that text keeps to.
    pub width: usize,
    pub colour: bool,
}

impl Room {
    pub fn new(target: Target<'_>, color: ColorChoice) -> Self {
        let colour = is_coloured(color, target.colour_terminal);
        let terminal = target.width.map(|columns| columns.max(NARROWEST));
        Self { terminal, width: terminal.unwrap_or(WIDTH), colour }
    }

    pub fn bold(&self, text: &str) -> String {
        format!("{}\n", Paint::Bold.on(text, self.colour))
    }
}

/// A column of a table: its heading, and the cell that it has of a row.
pub(crate) struct Column<T> {
    pub heading: Cow<'static, str>,
    /// The second line of the heading.
    below: &'static str,
    pub align: Align,
    /// The level of a row's interval, which the heading says where it is the same in all rows.
    level: fn(&T) -> Option<f64>,
    /// Its place among those that give way where the table is too wide, and its name there.
    gives_way: Option<(u8, &'static str)>,
    pub cell: fn(&T) -> Cell,
}

pub(crate) fn left<T>(heading: impl Into<Cow<'static, str>>, cell: fn(&T) -> Cell) -> Column<T> {
    let (heading, align) = (heading.into(), Align::Left);
    Column { heading, below: "", align, level: |_| None, gives_way: None, cell }
}

pub(crate) fn right<T>(heading: impl Into<Cow<'static, str>>, cell: fn(&T) -> Cell) -> Column<T> {
    Column { align: Align::Right, ..left(heading, cell) }
}

impl<T> Column<T> {
    pub fn below(self, below: &'static str) -> Self {
        Self { below, ..self }
    }

    pub fn level(self, level: fn(&T) -> Option<f64>) -> Self {
        Self { level, ..self }
    }

    pub fn gives_way(self, place: u8, name: &'static str) -> Self {
        Self { gives_way: Some((place, name)), ..self }
    }

    fn heading_over(&self, rows: &[&T]) -> String {
        let level = level(rows.iter().filter_map(|row| (self.level)(row)));
        format!("{}{level}", self.heading).trim_start().to_owned()
    }
}

/// A table in Markdown of rows with a value for each column.
pub(crate) fn markdown_rows<'r, T: 'r>(
    columns: &[Column<T>],
    rows: impl IntoIterator<Item = &'r T>,
) -> String {
    let headings: Vec<(&str, Align)> =
        columns.iter().map(|column| (&*column.heading, column.align)).collect();
    let cells = |row: &T| columns.iter().map(|column| (column.cell)(row).text).collect();
    markdown::table(&headings, &rows.into_iter().map(cells).collect::<Vec<_>>())
}

/// ` [95%]`, if all intervals are of one confidence level.
pub(crate) fn level(levels: impl Iterator<Item = f64>) -> String {
    let levels: BTreeSet<String> =
        levels.map(|level| format!(" [{}%]", (level * 1e4).round() / 1e2)).sorted_set();
    match levels.len() {
        1 => levels.into_iter().collect(),
        _ => String::new(),
    }
}

#[derive(Default)]
pub(crate) struct Table {
    pub text: String,
    /// Columns that had no room.
    pub left_out: Vec<&'static str>,
}

impl Table {
    /// The table with a text above it.
    pub fn below(self, text: String) -> Self {
        Self { text: text + &self.text, ..self }
    }
}

/// The columns of a table, behind which the marks of notes stand.
pub(crate) struct Layout<T>(Vec<Column<T>>);

const INDENT: usize = 4;

impl<T> Layout<T> {
    pub fn of<const N: usize>(columns: [Column<T>; N]) -> Self {
        Self(columns.into())
    }

    /// Inserts further columns at `place`.
    pub fn with<const N: usize>(mut self, place: usize, columns: [Column<T>; N]) -> Self {
        self.0.splice(place..place, columns);
        self
    }

    /// The cells of a row, and the marks of its notes.
    pub fn line(&self, of: &T, notes: Vec<Note>, footnotes: &mut Footnotes) -> Line {
        let marks = Cell::new(footnotes.marks(notes), Paint::Warn);
        Line::Cells(self.0.iter().map(|column| (column.cell)(of)).chain([marks]).collect())
    }

    /// The `lines` of rows under the headings, and their footnotes. Columns without a value are left
    /// out; only on a terminal others give way.
    pub fn table(
        &self,
        rows: &[&T],
        lines: impl Fn(&mut Footnotes) -> Vec<Line>,
        room: Room,
    ) -> Table {
        let headings: Vec<String> = self.0.iter().map(|column| column.heading_over(rows)).collect();
        let aligned = headings.iter().zip(&self.0).map(|(text, it)| (text.as_str(), it.align));
        let columns: Vec<(&str, Align)> = aligned.chain([("", Align::Left)]).collect();
        let below = self.0.iter().map(|column| Cell::new(column.below, Paint::Dim));
        let below = Line::Cells(below.chain([Cell::default()]).collect());
        let lines = |footnotes: &mut Footnotes| [vec![below.clone()], lines(footnotes)].concat();
        let has_room = |lines: &[Line]| table_width(&columns, lines, INDENT) <= room.width;
        let (mut lines, footnotes) = Footnotes::new(lines, has_room);
        for column in 0..columns.len() {
            if is_empty(column, &lines[1..]) {
                clear(column, &mut lines);
            }
        }
        let giving = self.0.iter().enumerate();
        let giving = giving.filter_map(|(place, it)| Some((it.gives_way?, place)));
        let giving: BTreeMap<(u8, &'static str), usize> = giving.sorted_map();
        let order: Vec<usize> = giving.values().copied().collect();
        let left_out = fit(&columns, &mut lines, INDENT, room.terminal, &order);
        if matches!(&lines[0], Line::Cells(below) if below.iter().all(|it| it.text.is_empty())) {
            lines.remove(0);
        }
        let text = render(&columns, &lines, INDENT, room.width, room.colour);
        let named = giving.into_iter().filter(|(_, place)| left_out.contains(place));
        Table {
            text: text + &footnotes.render(room.width, room.colour),
            left_out: named.map(|((_, name), _)| name).collect(),
        }
    }
}

/// The number of the machine that measured a row; nothing where all rows are of one machine. The header says
/// which machine it is.
pub(crate) fn machine(row: &Row) -> Cell {
    row.machine.map(|number| number.to_string()).unwrap_or_default().into()
}

/// `bf16-64x1024x1024  (custom)`, above the cases of one dtype and shape; of a kernel its whole problem
/// size.
pub(crate) fn parameter_heading(entry: &Entry<'_>) -> Line {
    let case = &entry.row.record.case;
    let names = match entry.row.problem_size() {
        Some(fields) => units::fields(fields),
        None => case.shape_names.join(", "),
    };
    heading(&case.id.parameter, &names)
}

/// A size, and its names in parentheses if it has some.
pub(crate) fn heading(size: impl std::fmt::Display, names: &str) -> Line {
    let names = if names.is_empty() { String::new() } else { format!("  ({names})") };
    Line::Text(Cell::new(format!("  {size}{names}"), Paint::Dim))
}

/// A number with so many significant digits; nothing where there is none.
pub(crate) fn significant(value: Option<f64>, digits: i32) -> Cell {
    value.map(|value| units::significant(value, digits)).unwrap_or_default().into()
}

/// A page of tables: the circumstances above, the advice and how the cases ended below.
pub(crate) fn page(
    report: &Report,
    tables: Vec<Table>,
    advice: Option<&str>,
    room: Room,
) -> String {
    let Room { width, colour, .. } = room;
    let mut out = header::header(report, width, colour);
    let mut left_out = BTreeSet::new();
    for table in tables {
        out.push_str(&format!("\n{}", table.text));
        left_out.extend(table.left_out);
    }
    out.extend(advice.map(|advice| format!("\n{advice}")));
    out.push('\n');
    out + &footer::footer(report, width, colour) + &footer::left_out(&left_out, width)
}

/// Text on lines of the room's width.
pub(crate) fn paragraph(text: &str, indent: usize, paint: Paint, room: Room) -> String {
    let parts = wrap(text, room.width - indent).into_iter();
    parts.map(|part| format!("{:indent$}{}\n", "", paint.on(&part, room.colour))).collect()
}

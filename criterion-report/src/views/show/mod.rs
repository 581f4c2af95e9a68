//! `show`: the report as a table for people.

mod chosen;
mod compiled;
mod details;
mod group;
mod profile;

use clap::ColorChoice;

use crate::model::{Entry, gather};
use crate::parallel;
use crate::read::Report;
use crate::render::table::{ABSENT, Align, Line, render, screen};
use crate::views::choice::{self, Choice};
use crate::views::footnotes::Note;
use crate::views::view::{Room, parameter_heading};
use crate::views::{failures, footer, header, written::Target};
pub use chosen::Sorting;

#[derive(Debug, Clone, Default, clap::Args)]
pub struct Options {
    /// When to colour the table
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// Show latency, accuracy, memory, counters, energy and more below each table
    #[arg(long)]
    pub details: bool,
    /// Show these values instead; `--columns help` lists them
    ///
    /// Where the table is wider than the terminal, intervals give way, then the last columns, which
    /// are named.
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "details")]
    pub columns: Vec<Choice>,
    /// Sort cases inside each group, e.g. `latency` or `speedup:desc`
    #[arg(long, value_name = "COLUMN[:desc]")]
    pub sort: Option<Sorting>,
}

pub fn write(report: &Report, options: &Options, target: Target) -> String {
    let room = Room::new(target, options.color);
    let Room { width, colour, .. } = room;
    let columns = choice::fields(&options.columns).unwrap_or_default();
    let mut out = header::header(report, width, colour);
    if options.details {
        out.push_str(&header::variables(report, width, colour));
    }
    let table = |mut group: Vec<Entry<'_>>| {
        if let Some(sorting) = options.sort {
            sorting.sort(&mut group);
        }
        if columns.is_empty() {
            group::table(&group, options.details, room)
        } else {
            chosen::table(&group, &columns, room)
        }
    };
    for table in parallel::map_into(groups(report), table) {
        out.push('\n');
        out.push_str(&table);
    }
    out.push('\n');
    out.push_str(&footer::footer(report, width, colour));
    out.push_str(&footer::more(report));
    screen(&out, colour)
}

/// Entries of one criterion group, in the order in which groups and cases first appear.
fn groups(report: &Report) -> Vec<Vec<Entry<'_>>> {
    gather(report.entries(), |entry| &entry.row.record.case.id.group)
}

/// The lines of entries below a heading for each dtype and shape with any.
fn by_parameter<'a, L: IntoIterator<Item = Line>>(
    entries: impl IntoIterator<Item = Entry<'a>>,
    mut lines: impl FnMut(&Entry<'a>) -> L,
) -> Vec<Line> {
    let mut all = Vec::new();
    for siblings in gather(entries, |entry| &entry.row.record.case.id.parameter) {
        let mut own = siblings.iter().flat_map(&mut lines).peekable();
        all.extend(own.peek().is_some().then(|| parameter_heading(&siblings[0])));
        all.extend(own);
    }
    all
}

/// A further table of a group, below an empty line; nothing without lines.
fn further(columns: &[(&str, Align)], lines: &[Line], room: Room) -> String {
    match lines {
        [] => String::new(),
        lines => format!("\n{}", render(columns, lines, INDENT, room.width, room.colour)),
    }
}

const INDENT: usize = 4;

fn notes(entry: &Entry<'_>) -> Vec<Note> {
    let mut notes = failures::notes(entry);
    let compared = entry.comparison.into_iter().flat_map(|comparison| &comparison.cautions);
    notes.extend(compared.map(Note::from));
    notes.extend(entry.row.cautions().iter().map(Note::from));
    notes
}

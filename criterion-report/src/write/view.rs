//! The common part of the views' tables.

use clap::ColorChoice;

use super::Target;
use super::show::footnotes::Footnotes;
use super::show::{NARROWEST, WIDTH};
use super::table::{Align, Cell, Line, Paint, clear, fit, is_empty, render, table_width};

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
pub(super) struct Room {
    /// Columns of a terminal, for tables: elsewhere they have all their columns.
    pub terminal: Option<usize>,
    /// Columns that text keeps to.
    pub width: usize,
    pub colour: bool,
}

impl Room {
    pub fn of(target: Target<'_>, color: ColorChoice) -> Self {
        let colour = is_coloured(color, target.colour_terminal);
        let terminal = target.width.map(|columns| columns.max(NARROWEST));
        Self { terminal, width: terminal.unwrap_or(WIDTH), colour }
    }

    pub fn bold(&self, text: &str) -> String {
        format!("{}\n", Paint::Bold.on(text, self.colour))
    }
}

/// The heading of a column, what stands below it, what the column is called where it has no
/// room, and its alignment.
pub(super) type Heading = (&'static str, &'static str, &'static str, Align);

pub(super) struct Table {
    pub text: String,
    pub left_out: Vec<String>,
}

/// The columns of a table, and which of them give way.
pub(super) struct Layout<'c> {
    pub columns: &'c [Heading],
    /// Columns whose headings depend on the numbers below them.
    pub headings: &'c [(usize, String)],
    /// Columns that give way, in this order, where the table is too wide.
    pub give_way: &'c [usize],
}

impl Layout<'_> {
    pub const INDENT: usize = 4;

    /// The lines under the headings, and their footnotes. Columns without a value are left out.
    pub fn table(&self, lines: impl Fn(&mut Footnotes) -> Vec<Line>, room: Room) -> Table {
        let mut columns: Vec<(&str, Align)> =
            self.columns.iter().map(|(heading, _, _, align)| (*heading, *align)).collect();
        for (column, heading) in self.headings {
            columns[*column].0 = heading;
        }
        let below = self.columns.iter().map(|(_, below, ..)| Cell::new(*below, Paint::Dim));
        let below = Line::Cells(below.collect());
        let lines = |footnotes: &mut Footnotes| [vec![below.clone()], lines(footnotes)].concat();
        let too_wide = |lines: &[Line], room| table_width(&columns, lines, Self::INDENT) > room;
        let has_room = |lines: &[Line]| !too_wide(lines, room.width);
        let (mut lines, footnotes) = Footnotes::of(lines, has_room);
        for column in 0..columns.len() {
            if is_empty(column, &lines[1..]) {
                clear(column, &mut lines);
            }
        }
        let left_out = fit(&columns, &mut lines, Self::INDENT, room.terminal, self.give_way);
        if matches!(&lines[0], Line::Cells(below) if below.iter().all(|it| it.text.is_empty())) {
            lines.remove(0);
        }
        let text = render(&columns, &lines, Self::INDENT, room.width, room.colour);
        Table {
            text: text + &footnotes.render(room.width, room.colour),
            left_out: left_out.into_iter().map(|it| self.columns[it].2.to_owned()).collect(),
        }
    }
}

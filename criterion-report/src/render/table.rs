//! Aligned columns for a terminal. Widths are counted in characters: nothing wide or combining
//! is ever printed here.

use std::borrow::Cow;
use std::iter;

use crate::visible;

/// The text in place of an absent value.
pub const ABSENT: &str = "–";

/// How a piece of text stands out, where colour is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Paint {
    #[default]
    Plain,
    Bold,
    /// The frame of the numbers.
    Dim,
    /// Better than the baseline.
    Good,
    /// Worse than the baseline, or failed.
    Bad,
    /// Worth a look.
    Warn,
}

impl Paint {
    const fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Bold => Some("1"),
            Self::Dim => Some("2"),
            Self::Good => Some("32"),
            Self::Bad => Some("31"),
            Self::Warn => Some("33"),
        }
    }

    /// A line of text between this paint's escape codes, or as it is without `colour`.
    pub fn on(self, text: &str, colour: bool) -> String {
        let text = visible::line(text);
        match self.code() {
            Some(code) if colour && !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.into_owned(),
        }
    }
}

/// Makes a text safe for a terminal: only the codes of [`Paint`] keep their effect.
pub fn screen(text: &str, colour: bool) -> String {
    const CODES: [&str; 6] = ["[0m", "[1m", "[2m", "[31m", "[32m", "[33m"];
    if !colour {
        return visible::lines(text).into_owned();
    }
    let mut parts = text.split('\x1b');
    let mut out = visible::lines(parts.next().unwrap_or_default()).into_owned();
    for part in parts {
        match CODES.iter().find(|code| part.starts_with(**code)) {
            Some(_) => out.push('\x1b'),
            None => out.push_str(&visible::line("\x1b")),
        }
        out.push_str(&visible::lines(part));
    }
    out
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cell {
    pub text: String,
    pub paint: Paint,
}

impl Cell {
    pub fn new(text: impl Into<String>, paint: Paint) -> Self {
        Self { text: text.into(), paint }
    }

    /// Characters of its text, as long as it will be.
    fn width(&self) -> usize {
        match self.text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            true => self.text.len(),
            false => self.line().chars().count(),
        }
    }

    /// Its text, as it will be seen.
    fn line(&self) -> Cow<'_, str> {
        visible::line(&self.text)
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text, Paint::Plain)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// One cell per column; fewer leave the rest empty.
    Cells(Vec<Cell>),
    /// The first cell, then text over all other columns.
    Spanning(Cell, Cell),
    Text(Cell),
}

/// Lines, aligned; columns that are empty in every line are left out with their headings.
pub fn render(
    columns: &[(&str, Align)],
    lines: &[Line],
    indent: usize,
    width: usize,
    colour: bool,
) -> String {
    let widths: Vec<usize> =
        (0..columns.len()).map(|column| column_width(columns[column].0, column, lines)).collect();
    let margin = " ".repeat(indent);
    let mut out = String::new();
    let headings = columns.iter().map(|(name, _)| Cell::new(*name, Paint::Dim)).collect::<Vec<_>>();
    let mut put = |line: String| {
        out.push_str(line.trim_end());
        out.push('\n');
    };
    if columns.iter().zip(&widths).any(|((name, _), width)| *width > 0 && !name.is_empty()) {
        put(format!("{margin}{}", cells(&headings, columns, &widths, colour)));
    }
    for line in lines {
        match line {
            Line::Cells(row) => put(format!("{margin}{}", cells(row, columns, &widths, colour))),
            Line::Spanning(first, rest) => {
                let first_width = widths[0];
                let room = width.saturating_sub(indent + first_width + GAP).max(30);
                for (index, part) in wrap(&visible::lines(&rest.text), room).iter().enumerate() {
                    let text = if index == 0 { first.line() } else { "".into() };
                    let padding = " ".repeat(first_width + GAP - text.chars().count());
                    let (first, part) =
                        (first.paint.on(&text, colour), rest.paint.on(part, colour));
                    put(format!("{margin}{first}{padding}{part}"));
                }
            }
            Line::Text(cell) => put(cell.paint.on(&cell.text, colour)),
        }
    }
    out
}

/// Characters of the widest line of cells that [`render`] makes of these.
pub fn table_width(columns: &[(&str, Align)], lines: &[Line], indent: usize) -> usize {
    let widths = (0..columns.len()).map(|column| column_width(columns[column].0, column, lines));
    let widths: Vec<usize> = widths.filter(|width| *width > 0).collect();
    indent + widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// Whether no case has a value in the column.
pub fn is_empty(column: usize, lines: &[Line]) -> bool {
    lines.iter().all(|line| match line {
        Line::Cells(row) => ["", ABSENT].contains(&row[column].text.as_str()),
        Line::Spanning(..) => column > 0,
        Line::Text(_) => true,
    })
}

/// Empties a column, which leaves it out.
pub fn clear(column: usize, lines: &mut [Line]) {
    for line in lines {
        if let Line::Cells(row) = line {
            row[column] = Cell::default();
        }
    }
}

/// Leaves columns out, those of `give_way` in its order, until the table fits a terminal of `room`
/// columns; which ones it were, if anything stood in them.
pub fn fit(
    columns: &[(&str, Align)],
    lines: &mut [Line],
    indent: usize,
    room: Option<usize>,
    give_way: &[usize],
) -> Vec<usize> {
    let mut left_out = Vec::new();
    for &column in give_way {
        let too_wide = room.is_some_and(|room| table_width(columns, lines, indent) > room);
        if too_wide && column_width(columns[column].0, column, lines) > 0 {
            clear(column, lines);
            left_out.push(column);
        }
    }
    left_out
}

/// Columns that text keeps to where ids and names let it, unless a terminal says otherwise.
pub(crate) const WIDTH: usize = 100;
/// Narrower than this, text is no easier to read than lines that the terminal breaks.
pub(crate) const NARROWEST: usize = 60;

pub const GAP: usize = 2;

fn column_width(heading: &str, column: usize, lines: &[Line]) -> usize {
    let cells = lines.iter().filter_map(|line| match line {
        Line::Cells(row) => row.get(column),
        Line::Spanning(first, _) if column == 0 => Some(first),
        Line::Spanning(..) | Line::Text(_) => None,
    });
    match cells.map(Cell::width).max().unwrap_or(0) {
        0 => 0,
        widest => widest.max(heading.chars().count()),
    }
}

fn cells(row: &[Cell], columns: &[(&str, Align)], widths: &[usize], colour: bool) -> String {
    let empty = Cell::default();
    let mut out = String::new();
    for (column, &(_, align)) in columns.iter().enumerate() {
        let width = widths[column];
        if width == 0 {
            continue;
        }
        let cell = row.get(column).unwrap_or(&empty);
        let padding = width.saturating_sub(cell.width());
        if !out.is_empty() {
            pad(&mut out, GAP);
        }
        if align == Align::Right {
            pad(&mut out, padding);
        }
        out.push_str(&cell.paint.on(&cell.text, colour));
        if align == Align::Left {
            pad(&mut out, padding);
        }
    }
    out
}

fn pad(out: &mut String, width: usize) {
    out.extend(iter::repeat_n(' ', width));
}

/// A space where [`wrap`] breaks no line.
const GLUE: char = '\u{a0}';

/// Text that [`wrap`] keeps on one line.
pub fn glued(text: &str) -> String {
    text.replace(' ', &GLUE.to_string())
}

/// Words on lines of at most `width` characters; a longer word stands alone. Never empty.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let words = text.split(|char: char| char.is_whitespace() && char != GLUE);
    for word in words.filter(|word| !word.is_empty()).map(|word| word.replace(GLUE, " ")) {
        let line = lines.last_mut().expect("the list starts with one line");
        let fits = line.chars().count() + 1 + word.chars().count() <= width;
        if line.is_empty() {
            line.push_str(&word);
        } else if fits {
            line.push(' ');
            line.push_str(&word);
        } else {
            lines.push(word);
        }
    }
    lines
}

/// Text on lines of at most `width` characters, behind `first`, and as far from the left below it.
pub fn hanging(first: &str, text: &str, width: usize) -> Vec<String> {
    let indent = first.chars().count();
    let lines = wrap(text, width.saturating_sub(indent)).into_iter().enumerate();
    let before = |place| if place == 0 { first } else { "" };
    lines.map(|(place, line)| format!("{:indent$}{line}", before(place))).collect()
}

/// Remarks with a mark before each.
pub fn remarks<'a>(
    remarks: impl IntoIterator<Item = &'a String>,
    width: usize,
    colour: bool,
) -> String {
    let lines = remarks.into_iter().flat_map(|remark| hanging("! ", remark, width));
    lines.map(|line| format!("{}\n", Paint::Warn.on(&line, colour))).collect()
}

pub fn labelled(label: &str, text: &str, width: usize, colour: bool) -> String {
    const INDENT: usize = 10;
    let mut out = String::new();
    for (line, part) in wrap(text, width - INDENT).iter().enumerate() {
        let label = format!("{:INDENT$}", if line == 0 { label } else { "" });
        out.push_str(&format!("{}{part}\n", Paint::Dim.on(&label, colour)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_empty_ones_go() {
        let columns = [
            ("variant", Align::Left),
            ("time", Align::Right),
            ("", Align::Left),
            ("n", Align::Right),
        ];
        let lines = [
            Line::Text("bf16".into()),
            Line::Cells(vec!["baseline".into(), "1 µs".into(), "".into(), "10".into()]),
            Line::Spanning("int8wo".into(), "skipped: there is no device of that kind".into()),
        ];
        insta::assert_snapshot!(render(&columns, &lines, 2, 40, false), @r"
          variant   time   n
        bf16
          baseline  1 µs  10
          int8wo    skipped: there is no device of
                    that kind
        ");
        assert_eq!(table_width(&columns, &lines, 2), "  baseline  1 µs  10".chars().count());
    }

    #[test]
    fn text_breaks_between_words_that_are_not_glued() {
        let text = format!("at {}  or\n{}", glued("a b c"), glued("d e"));
        assert_eq!(wrap(&text, 8), ["at a b c", "or d e"]);
        assert_eq!(wrap(&text, 4), ["at", "a b c", "or", "d e"]);
        assert_eq!(wrap("", 4), [""]);
    }

    #[test]
    fn colour_changes_nothing_but_colour() {
        let columns = [("variant", Align::Left), ("time", Align::Right)];
        let lines = [Line::Cells(vec!["baseline".into(), Cell::new("1 µs", Paint::Good)])];
        let plain = render(&columns, &lines, 0, 40, false);
        let coloured = render(&columns, &lines, 0, 40, true);
        assert_ne!(plain, coloured);
        let codes = regex::Regex::new("\x1b\\[[0-9]+m").expect("a valid pattern");
        assert_eq!(codes.replace_all(&coloured, ""), plain);
    }
}

//! Warnings beside the numbers that they concern: a mark behind each number, and below the table a line
//! for each kind of warning.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use crate::model::Caution;
use crate::render::table::{Line, Paint, WIDTH, glued, hanging};

const INDENT: usize = 4;

/// Marks beside numbers and the notes that they refer to, each kind once.
#[derive(Default)]
pub struct Footnotes {
    notes: Vec<Footnote>,
    /// Whether figures have no room behind their marks.
    bare: bool,
    /// Marks with figures, and the same without them.
    with_figures: HashMap<String, String>,
    /// Whether notes are as long as they are. Otherwise each has one line.
    pub whole: bool,
}

/// A note on a row.
pub struct Note {
    pub whole: String,
    /// The text that rows share, if that is another one.
    kind: Option<String>,
    /// The row's own figures, to stand behind its mark.
    figures: Option<String>,
}

impl Note {
    /// With a text of one line that stands for all notes of its kind.
    pub fn of_kind(kind: impl Into<String>, whole: String) -> Self {
        Self { whole, kind: Some(kind.into()), figures: None }
    }
}

impl From<String> for Note {
    fn from(whole: String) -> Self {
        Self { whole, kind: None, figures: None }
    }
}

impl From<&Caution> for Note {
    fn from(caution: &Caution) -> Self {
        let (kind, figures) = caution.kind().unzip();
        let figures = figures.flatten().map(str::to_owned);
        Self { whole: caution.to_string(), kind: kind.map(str::to_owned), figures }
    }
}

/// The notes of one kind.
struct Footnote {
    /// The text that they share: one of its own, or theirs without figures.
    kind: String,
    is_own_text: bool,
    has_figures: bool,
    /// The whole text, if it is the same for all.
    whole: Option<String>,
}

impl Footnotes {
    /// A table's lines and their notes. Figures follow their marks if the lines fit then.
    pub fn new(
        lines: impl FnOnce(&mut Self) -> Vec<Line>,
        fit: impl FnOnce(&[Line]) -> bool,
    ) -> (Vec<Line>, Self) {
        let mut footnotes = Self::default();
        let mut made = lines(&mut footnotes);
        if !fit(&made) {
            footnotes.bare = true;
            for line in &mut made {
                let Line::Cells(cells) = line else { continue };
                for cell in cells {
                    if let Some(bare) = footnotes.with_figures.get(&cell.text) {
                        cell.text.clone_from(bare);
                    }
                }
            }
        }
        (made, footnotes)
    }

    pub fn mark(&mut self, note: String) -> String {
        superscript(self.number(note.into()))
    }

    /// The marks of several notes, in the order of the notes below the table: `¹ 4.5 (1.4) ²`.
    pub fn marks(&mut self, notes: impl IntoIterator<Item: Into<Note>>) -> String {
        let numbers = self.numbers(notes);
        let marks = numbers.iter().map(|(number, figures)| match figures {
            Some(figures) => format!("{} {figures}", superscript(*number)),
            None => superscript(*number),
        });
        let marks = marks.collect::<Vec<_>>().join(" ");
        if numbers.iter().any(|(_, figures)| figures.is_some()) {
            let mut bare: Vec<usize> = numbers.iter().map(|(number, _)| *number).collect();
            bare.dedup();
            let bare = bare.into_iter().map(superscript).collect::<Vec<_>>().join(" ");
            self.with_figures.insert(marks.clone(), bare);
        }
        marks
    }

    /// The numbers of several notes, each with the figures that are to follow it.
    pub fn numbers(
        &mut self,
        notes: impl IntoIterator<Item: Into<Note>>,
    ) -> Vec<(usize, Option<String>)> {
        let numbers = notes.into_iter().map(|note| {
            let note: Note = note.into();
            let figures = note.figures.clone().filter(|_| !self.bare);
            (self.number(note), figures)
        });
        let mut numbers: Vec<_> = numbers.collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    fn number(&mut self, Note { whole, kind, figures }: Note) -> usize {
        let (is_own_text, has_figures) = (kind.is_some(), figures.is_some());
        let kind = kind.unwrap_or_else(|| without_figures(&whole));
        match self.notes.iter().position(|known| known.kind == kind) {
            Some(place) => {
                let known = &mut self.notes[place].whole;
                known.take_if(|known| *known != whole);
                place + 1
            }
            None => {
                self.notes.push(Footnote { kind, is_own_text, has_figures, whole: Some(whole) });
                self.notes.len()
            }
        }
    }

    /// The mark of a note that differs from others of its kind, which the lines below the table do
    /// not show.
    pub fn mark_of_differing(&self, note: &Note) -> Option<String> {
        let kind = note.kind.clone().unwrap_or_else(|| without_figures(&note.whole));
        let place = self.notes.iter().position(|known| known.kind == kind)?;
        self.notes[place].whole.is_none().then(|| superscript(place + 1))
    }

    /// The texts of all notes, in the order of their numbers, whatever their length. Figures stand
    /// behind the marks.
    pub fn texts(&self) -> impl ExactSizeIterator<Item = &str> {
        self.notes.iter().map(|note| match &note.whole {
            Some(whole) if !note.has_figures => whole.as_str(),
            _ => &note.kind,
        })
    }

    pub fn render(&self, width: usize, colour: bool) -> String {
        let mut out = String::new();
        let indent = superscript(self.notes.len()).chars().count() + 1;
        // A narrower terminal breaks the line.
        let room = width.max(WIDTH) - INDENT - indent;
        for (index, note) in self.notes.iter().enumerate() {
            let mark = format!("{:indent$}", superscript(index + 1));
            let text = if self.whole { note.whole.clone() } else { None };
            let text = text.unwrap_or_else(|| note.on_one_line(room));
            for line in hanging(&mark, &text, width - INDENT) {
                out.push_str(&format!("    {}\n", Paint::Warn.on(&line, colour)));
            }
        }
        out
    }
}

impl Footnote {
    fn on_one_line(&self, room: usize) -> String {
        match &self.whole {
            Some(whole) if !self.is_own_text || whole.chars().count() <= room => cut(whole, room),
            _ => cut(&self.kind, room),
        }
    }
}

/// A text without its numbers, so that those that differ in nothing else are equal.
fn without_figures(text: &str) -> String {
    static FIGURE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(^|[\s(\[±])\d+(?:[.,]\d+)*\b(?: (?:ns|µs|ms|s|B|KiB|MiB|GiB)\b)?")
            .expect("a valid pattern")
    });
    FIGURE.replace_all(text, "$1…").into_owned()
}

/// A text; where there is no room for it, without what stands in brackets, or else as many of its
/// clauses or words as have room.
fn cut(text: &str, room: usize) -> String {
    static BRACKETS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r" \([^()]*\)").expect("a valid pattern"));
    let has_room = |text: &str| text.chars().count() <= room;
    if has_room(text) {
        return text.to_owned();
    }
    let bare = BRACKETS.replace_all(text, " (…)");
    if has_room(&bare) {
        return bare.into_owned();
    }
    let head: String = text.chars().take(room - 2).collect();
    let is_whole = |end: &usize| {
        let head = &head[..*end];
        head.matches('(').count() == head.matches(')').count() && *end > room / 3
    };
    let ends = |at: &'static str| head.match_indices(at).map(|(end, _)| end);
    let clauses = [": ", "; ", ", ", " ("].into_iter().flat_map(ends).filter(is_whole);
    let end = clauses.max().or_else(|| head.rfind(' ')).unwrap_or(head.len());
    format!("{}{}", &head[..end], glued(" …"))
}

fn superscript(number: usize) -> String {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let value = |digit: char| digit.to_digit(10).expect("a number prints as digits") as usize;
    number.to_string().chars().map(|digit| digits[value(digit)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of such notes below a table of this width.
    fn lines(notes: &[&str], whole: bool) -> Vec<String> {
        let mut footnotes = Footnotes { whole, ..Footnotes::default() };
        for note in notes {
            footnotes.mark((*note).to_owned());
        }
        footnotes.render(WIDTH, false).lines().map(|line| line.trim().to_owned()).collect()
    }

    #[test]
    fn a_kind_of_note_has_one_line() {
        let slow = "the first call took 29 times a later one (3.1 ms): a step may reuse what an \
                    earlier one computed, or it warmed up";
        let slower = slow.replace("29", "310.5").replace("3.1 ms", "47 µs");
        let memory = "stale: the estimate is of another run (its last sample is 8 iterations in \
                      32880001 ns, the record's in 32880000 ns); measure it again with `cargo bench`";
        assert_eq!(
            lines(&[slow, memory, slow], false),
            [
                "¹ the first call took 29 times a later one (3.1 ms) …",
                "² stale: the estimate is of another run (…); measure it again with `cargo bench`"
            ]
        );
        let blurred = "¹ the first call took … times a later one (…): a step may reuse what an \
                       earlier one computed …";
        assert_eq!(lines(&[slow, &slower], false), [blurred]);
        assert_eq!(lines(&[slow, &slower], true), [blurred]);
        assert!(lines(&[slow], true).concat().ends_with("or it warmed up"));
        let short = "f32-1024 differs in 3 of 10 samples of int8wo";
        assert_eq!(lines(&[short], false), [format!("¹ {short}")]);
    }
}

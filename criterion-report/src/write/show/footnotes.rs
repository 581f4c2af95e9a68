//! Warnings beside the numbers that they concern.

use crate::model::Caution;
use crate::write::table::{Line, Paint, hanging};

/// Marks beside numbers and the notes that they refer to, each text once.
#[derive(Default)]
pub struct Footnotes {
    notes: Vec<Note>,
    /// Whether a row's figures stand in the note, not beside the mark.
    in_notes: bool,
}

/// A note on a row: a text that rows share, and the figures in it that are the row's own.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    text: String,
    figures: Option<String>,
}

impl From<String> for Note {
    fn from(text: String) -> Self {
        Self { text, figures: None }
    }
}

impl From<&Caution> for Note {
    fn from(caution: &Caution) -> Self {
        let (text, figures) = caution.shared();
        Self { text, figures }
    }
}

impl Footnotes {
    /// A table's lines and their notes. Figures follow their marks if the lines fit then; otherwise
    /// the notes list them, so that no column gives way to them.
    pub fn of(
        lines: impl Fn(&mut Self) -> Vec<Line>,
        fit: impl Fn(&[Line]) -> bool,
    ) -> (Vec<Line>, Self) {
        let mut footnotes = Self::default();
        let mut made = lines(&mut footnotes);
        if !fit(&made) {
            footnotes = Self { in_notes: true, ..Self::default() };
            made = lines(&mut footnotes);
        }
        (made, footnotes)
    }

    pub fn mark(&mut self, note: String) -> String {
        superscript(self.number(note.into()))
    }

    /// The marks of several notes, in the order of the notes below the table: `¹ 4.5 (1.4) ²`.
    pub fn marks(&mut self, notes: impl IntoIterator<Item: Into<Note>>) -> String {
        let marks = self.numbers(notes).into_iter().map(|(number, figures)| match figures {
            Some(figures) => format!("{} {figures}", superscript(number)),
            None => superscript(number),
        });
        marks.collect::<Vec<_>>().join(" ")
    }

    /// The numbers of several notes, each with the figures that are to follow it.
    pub fn numbers(
        &mut self,
        notes: impl IntoIterator<Item: Into<Note>>,
    ) -> Vec<(usize, Option<String>)> {
        let numbers = notes.into_iter().map(|note| {
            let mut note: Note = note.into();
            let figures = if self.in_notes { None } else { note.figures.take() };
            (self.number(note), figures)
        });
        let mut numbers: Vec<_> = numbers.collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    fn number(&mut self, note: Note) -> usize {
        let place = self.notes.iter().position(|known| *known == note).unwrap_or_else(|| {
            self.notes.push(note);
            self.notes.len() - 1
        });
        place + 1
    }

    /// The texts of all notes, in the order of their numbers.
    pub fn texts(&self) -> impl ExactSizeIterator<Item = &str> {
        self.notes.iter().map(|note| note.text.as_str())
    }

    pub fn render(&self, width: usize, colour: bool) -> String {
        let mut out = String::new();
        let indent = superscript(self.notes.len()).chars().count() + 1;
        for (index, note) in self.notes.iter().enumerate() {
            let Some(text) = self.text(index, note) else { continue };
            let mark = format!("{:indent$}", superscript(index + 1));
            for line in hanging(&mark, &text, width - 4) {
                out.push_str(&format!("    {}\n", Paint::Warn.on(&line, colour)));
            }
        }
        out
    }

    /// The text behind a note's mark. The first of those that differ in figures only has the others'
    /// marks, too: `4.5 (1.4), ² 2.6 (0.60) – wide: …`.
    fn text(&self, index: usize, note: &Note) -> Option<String> {
        let Some(figures) = &note.figures else { return Some(note.text.clone()) };
        let alike = |other: &Note| other.figures.is_some() && other.text == note.text;
        if self.notes[..index].iter().any(alike) {
            return None;
        }
        let others = self.notes.iter().enumerate().skip(index + 1);
        let others = others.filter(|(_, other)| alike(other)).filter_map(|(index, other)| {
            Some(format!(", {} {}", superscript(index + 1), other.figures.as_ref()?))
        });
        Some(format!("{figures}{} – {}", others.collect::<String>(), note.text))
    }
}

fn superscript(number: usize) -> String {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let value = |digit: char| digit.to_digit(10).expect("a number prints as digits") as usize;
    number.to_string().chars().map(|digit| digits[value(digit)]).collect()
}

//! Warnings beside the numbers that they concern.

use std::collections::BTreeSet;

use crate::write::table::{Paint, wrap};

/// Marks beside numbers and the notes that they refer to, each text once.
#[derive(Default)]
pub struct Footnotes {
    notes: Vec<String>,
}

impl Footnotes {
    /// The mark of a note.
    pub fn mark(&mut self, note: String) -> String {
        superscript(self.number(note))
    }

    /// The marks of several notes, in the order of the notes below the table.
    pub fn marks(&mut self, notes: Vec<String>) -> String {
        let numbers: BTreeSet<usize> = notes.into_iter().map(|note| self.number(note)).collect();
        numbers.into_iter().map(superscript).collect::<Vec<_>>().join(" ")
    }

    fn number(&mut self, note: String) -> usize {
        let place = self.notes.iter().position(|known| *known == note).unwrap_or_else(|| {
            self.notes.push(note);
            self.notes.len() - 1
        });
        place + 1
    }

    /// All notes with their marks.
    pub fn render(&self, width: usize, colour: bool) -> String {
        let mut out = String::new();
        let indent = superscript(self.notes.len()).chars().count() + 1;
        for (index, note) in self.notes.iter().enumerate() {
            let mark = superscript(index + 1);
            for (line, part) in wrap(note, width - 4 - indent).iter().enumerate() {
                let mark = if line == 0 { mark.as_str() } else { "" };
                let line = Paint::Warn.on(&format!("{mark:indent$}{part}"), colour);
                out.push_str(&format!("    {line}\n"));
            }
        }
        out
    }
}

fn superscript(number: usize) -> String {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let value = |digit: char| digit.to_digit(10).expect("a number prints as digits") as usize;
    number.to_string().chars().map(|digit| digits[value(digit)]).collect()
}

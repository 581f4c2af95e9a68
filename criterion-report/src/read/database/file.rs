//! A file as the uploader reads it: a list, a single object, or lines of objects and lists.

use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde_json::Value;

use super::text;
use crate::read::file::{self, Unusable};

#[derive(Debug, Default)]
pub struct Read {
    pub records: usize,
    pub byte_order_mark: bool,
    /// The lines that are not JSON, or the whole file.
    pub unusable: Unusable,
}

/// Hands every record to `visit`. A file of lines is read one line at a time.
pub fn read(path: &Path, mut visit: impl FnMut(Value)) -> Read {
    let mut read = Read::default();
    let whole = file::open_all(path).and_then(|file| read.file(BufReader::new(file), &mut visit));
    if let Err(error) = whole {
        read.unusable.add(|| format!(": {error}"));
    }
    read
}

impl Read {
    fn file(&mut self, mut file: impl BufRead, visit: &mut dyn FnMut(Value)) -> io::Result<()> {
        let (mut text, mut number) = (String::new(), 0);
        while text.trim().is_empty() {
            if file.read_line(&mut text)? == 0 {
                return Ok(());
            }
            number += 1;
            if text.starts_with('\u{feff}') {
                self.byte_order_mark = true;
                text.remove(0);
            }
        }
        if let Ok(value) = text::parse(&text) {
            self.add(value, visit);
            for line in file.lines() {
                number += 1;
                self.line(number, &line?, visit);
            }
            return Ok(());
        }
        file.read_to_string(&mut text)?;
        match text::parse(&text) {
            Ok(value) => self.add(value, visit),
            // If the file holds lines, the first may be a bad one.
            Err(_) if text.lines().any(holds_records) => {
                for (index, line) in text.lines().enumerate() {
                    self.line(index + 1, line, visit);
                }
            }
            Err(error) => self.unusable.add(|| format!(": {}", why(&error))),
        }
        Ok(())
    }

    fn line(&mut self, number: usize, line: &str, visit: &mut dyn FnMut(Value)) {
        if line.trim().is_empty() {
            return;
        }
        match text::parse(line) {
            Ok(value) => self.add(value, visit),
            Err(error) => self.unusable.add(|| {
                let why = why(&error).replace("at line 1 column", "at column");
                format!(": line {number}: {why}")
            }),
        }
    }

    fn add(&mut self, value: Value, visit: &mut dyn FnMut(Value)) {
        let records = match value {
            Value::Array(records) => records,
            record => vec![record],
        };
        self.records += records.len();
        records.into_iter().for_each(visit);
    }
}

fn holds_records(line: &str) -> bool {
    text::parse(line).is_ok_and(|value| value.is_object() || value.is_array())
}

fn why(error: &serde_json::Error) -> String {
    match error.to_string() {
        text if text.starts_with("recursion limit exceeded") => {
            format!("nested more than 100 levels deep, which no record is: {text}")
        }
        text => format!("not JSON: {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many records a text has, and what is said of it.
    fn reading(text: &str) -> (usize, Vec<String>) {
        let (mut read, mut seen) = (Read::default(), 0);
        read.file(text.as_bytes(), &mut |_| seen += 1).expect("it is all there");
        assert_eq!(read.records, seen);
        (seen, read.unusable.of_file(Path::new("f")).collect())
    }

    #[test]
    fn all_that_the_uploader_reads_is_read() {
        for (text, count) in [
            ("[{}, {}]", 2),
            ("{}", 1),
            ("{\n}", 1),
            ("\n\n[{},\n{}]\n", 2),
            ("{}\n\n[{}, {}]\r\n{}\n", 4),
            ("\u{feff}{}\n{}", 2),
            ("[]", 0),
            ("\n \n", 0),
            ("", 0),
        ] {
            assert_eq!(reading(text), (count, Vec::new()), "{text}");
        }
    }

    #[test]
    fn a_bad_line_costs_itself_alone() {
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        for (text, count, expected) in [
            ("{", 0, "not JSON: EOF while parsing an object at line 1 column 1"),
            ("[{},\n{},\n", 0, "not JSON: EOF while parsing a value at line 3 column 0"),
            ("{}\n{\n{}", 2, "line 2: not JSON: EOF while parsing an object at column 1"),
            ("{]\n{}\n[{}]", 2, "line 1: not JSON: key must be a string at column 2"),
            (
                &deep,
                0,
                "nested more than 100 levels deep, which no record is: recursion limit exceeded \
                 at line 1 column 128",
            ),
        ] {
            assert_eq!(reading(text), (count, vec![format!("f: {expected}")]), "{text}");
        }
    }

    #[test]
    fn of_many_bad_lines_the_first_are_named_and_the_others_counted() {
        let (count, told) = reading(&("{}\n".to_owned() + &"{\n".repeat(5_000)));
        assert_eq!((count, told.len(), &*told[10]), (1, 11, "f: and 4990 more"));
        assert!(told[9].starts_with("f: line 11: not JSON"), "{told:?}");
    }

    /// Gives a line with each call, and checks what became of those before.
    struct Lines<'a> {
        given: usize,
        seen: &'a std::cell::Cell<usize>,
    }

    impl io::Read for Lines<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            const LINE: &[u8] = b"{}\n";
            assert_eq!(self.seen.get(), self.given, "a line is read before the one above is done");
            if self.given == 5 {
                return Ok(0);
            }
            self.given += 1;
            out[..LINE.len()].copy_from_slice(LINE);
            Ok(LINE.len())
        }
    }

    #[test]
    fn lines_are_not_held() {
        let seen = std::cell::Cell::new(0);
        let lines = BufReader::new(Lines { given: 0, seen: &seen });
        let mut read = Read::default();
        read.file(lines, &mut |_| seen.set(seen.get() + 1)).expect("it is all there");
        assert_eq!(seen.get(), 5);
    }
}

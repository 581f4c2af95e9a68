//! A file as the uploader reads it: a list, a single object, or lines of objects and lists.

use std::path::{Path, PathBuf};

use serde_json::Value;
use thiserror::Error;

use super::{Finding, Trap};
use crate::model::file;

/// Why a file cannot be checked.
#[derive(Debug, Error)]
#[error("{}: {why}", .path.display())]
pub struct Unreadable {
    path: PathBuf,
    why: String,
}

/// What a file holds.
pub struct Read {
    pub records: Vec<Value>,
    pub findings: Vec<Finding>,
}

pub fn read(path: &Path) -> Result<Read, Unreadable> {
    let unreadable = |why: String| Unreadable { path: path.to_owned(), why };
    let bytes = file::exact_all(path).map_err(|error| unreadable(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|error| unreadable(error.to_string()))?;
    let (text, words) = strict(&text);
    let finding = |trap, found| Finding {
        trap,
        file: path.to_owned(),
        record: None,
        path: String::new(),
        found,
    };
    let mut findings: Vec<Finding> = words
        .into_iter()
        .map(|(line, word)| finding(Trap::NotFinite, format!("{word} in line {line}")))
        .collect();
    let records = records(&text).map_err(|error| unreadable(format!("not JSON: {error}")))?;
    if records.is_empty() {
        findings.push(finding(Trap::NoRecord, "it holds no record".to_owned()));
    }
    Ok(Read { records, findings })
}

/// One JSON value, or one on each line; lists are of records.
fn records(text: &str) -> Result<Vec<Value>, String> {
    let whole = match serde_json::from_str(text) {
        Ok(value) => return Ok(flat(value)),
        Err(error) => error,
    };
    let mut records = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str(line) {
            Ok(value) => records.extend(flat(value)),
            Err(_) if index == 0 => return Err(whole.to_string()),
            Err(error) => return Err(format!("line {}: {error}", index + 1)),
        }
    }
    Ok(records)
}

fn flat(value: Value) -> Vec<Value> {
    match value {
        Value::Array(records) => records,
        record => vec![record],
    }
}

/// What Python writes of numbers that are none. The longer words come first.
const WORDS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

/// The text with null in their places, and where they stood.
fn strict(text: &str) -> (String, Vec<(usize, &'static str)>) {
    let (mut out, mut words) = (String::with_capacity(text.len()), Vec::new());
    let (mut rest, mut line, mut in_string) = (text, 1, false);
    while let Some(first) = rest.chars().next() {
        let word = WORDS.into_iter().find(|word| !in_string && rest.starts_with(word));
        if let Some(word) = word {
            words.push((line, word));
            out.push_str("null");
            rest = &rest[word.len()..];
            continue;
        }
        let mut taken = first.len_utf8();
        match first {
            '"' => in_string = !in_string,
            '\n' => line += 1,
            // What is escaped ends no string.
            '\\' if in_string => taken += rest[1..].chars().next().map_or(0, char::len_utf8),
            _ => {}
        }
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    (out, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_outside_strings_are_found_and_those_inside_stay() {
        let text = "[1, NaN,\n\"NaN \\\" -Infinity\", -Infinity, Infinity, \"é\"]";
        let (out, words) = strict(text);
        assert_eq!(out, "[1, null,\n\"NaN \\\" -Infinity\", null, null, \"é\"]");
        assert_eq!(words, [(1, "NaN"), (2, "-Infinity"), (2, "Infinity")]);
    }

    #[test]
    fn all_that_the_uploader_reads_is_read() {
        for (text, count) in [
            ("[{}, {}]", 2),
            ("{}", 1),
            ("{\n}", 1),
            ("{}\n\n[{}, {}]\n{}\n", 4),
            ("[]", 0),
            ("", 0),
        ] {
            assert_eq!(records(text).map(|records| records.len()), Ok(count), "{text}");
        }
        for (text, error) in [
            ("{", "EOF while parsing an object at line 1 column 1"),
            ("{}\n{\n}", "line 2: EOF while parsing an object at line 1 column 1"),
        ] {
            assert_eq!(records(text).map(|_| ()), Err(error.to_owned()), "{text}");
        }
    }
}

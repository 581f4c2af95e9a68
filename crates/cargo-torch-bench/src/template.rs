//! Texts with places to fill in, `@NAME@`, and words that a shell takes as they are.

use std::ffi::OsStr;
use std::path::Path;

use serde_yaml::Value;

use crate::error::{Error, Result};

/// Fills in every place. What is filled in is not looked at again.
///
/// # Panics
/// When the text has a place that is not named, or a name has no place: both are mistakes in our own files.
pub fn filled(template: &str, values: &[(&str, &str)]) -> String {
    let values: Vec<_> = values.iter().map(|(name, value)| (*name, Value::from(*value))).collect();
    assert_has_all(template, &values);
    replaced(template, &values)
}

/// The text of a YAML document whose places are filled in, with the comment that it begins with. A string that is a place
/// and nothing else becomes the value itself; where that is null, its key goes.
///
/// # Panics
/// As `filled`.
pub fn yaml(template: &str, values: &[(&str, Value)]) -> String {
    assert_has_all(template, values);
    let document: Value = serde_yaml::from_str(template).expect("a file of ours is YAML");
    let comment = template.split_inclusive('\n').take_while(|line| line.starts_with('#'));
    let text = serde_yaml::to_string(&with_values(document, values));
    comment.collect::<String>() + &text.expect("what was read can be written")
}

fn with_values(node: Value, values: &[(&str, Value)]) -> Value {
    match node {
        Value::String(text) => match place(&text).filter(|name| name.len() + 2 == text.len()) {
            Some(name) => value(name, values).clone(),
            None => Value::String(replaced(&text, values)),
        },
        Value::Sequence(all) => all.into_iter().map(|it| with_values(it, values)).collect(),
        Value::Mapping(all) => {
            let all = all
                .into_iter()
                .map(|(key, it)| (with_values(key, values), with_values(it, values)));
            Value::Mapping(all.filter(|(_, it)| !it.is_null()).collect())
        }
        other => other,
    }
}

fn value<'v>(name: &str, values: &'v [(&str, Value)]) -> &'v Value {
    let found = values.iter().find(|(it, _)| *it == name);
    &found.unwrap_or_else(|| panic!("@{name}@ has no value")).1
}

fn assert_has_all(template: &str, values: &[(&str, Value)]) {
    for (name, _) in values {
        assert!(template.contains(&format!("@{name}@")), "there is no @{name}@");
    }
}

fn replaced(template: &str, values: &[(&str, Value)]) -> String {
    let (mut text, mut rest) = (String::new(), template);
    while let Some(start) = rest.find('@') {
        let (before, from) = rest.split_at(start);
        text.push_str(before);
        match place(from) {
            None => {
                text.push('@');
                rest = &from[1..];
            }
            Some(name) => {
                match value(name, values) {
                    Value::String(it) => text.push_str(it),
                    Value::Number(it) => text.push_str(&it.to_string()),
                    other => panic!("@{name}@ is within a text and is {other:?}"),
                }
                rest = &from[name.len() + 2..];
            }
        }
    }
    text + rest
}

/// The name of the place at the start of a text.
fn place(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix('@')?.split_once('@')?;
    let is_name = !name.is_empty() && name.bytes().all(|it| it.is_ascii_uppercase() || it == b'_');
    is_name.then_some(name)
}

/// A word as one line of a script or of a terminal can have it: control characters would act on a terminal, and YAML knows
/// more ends of lines than a shell does.
pub fn one_line(word: &OsStr) -> Result<String> {
    let is_bad = |it: char| (it.is_control() && it != '\t') || "\u{2028}\u{2029}".contains(it);
    let text = word.to_str().filter(|text| !text.contains(is_bad));
    text.map(str::to_owned).ok_or_else(|| {
        Error::usage(format!("{word:?} cannot stand in a script"))
            .remedy("it has to be one line of UTF-8 without control characters")
    })
}

/// A path as one word of a shell, which no program takes for an option and no shell for an assignment.
pub fn path(path: impl AsRef<Path>) -> String {
    let path = path.as_ref().display().to_string();
    let path = if path.starts_with('-') { format!("./{path}") } else { path };
    if path.contains('=') { single(&path) } else { quoted(&path) }
}

/// One word of a shell.
pub fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./=:,+%".contains(it);
    match word {
        _ if !word.is_empty() && word.chars().all(is_plain) => word.to_owned(),
        _ => single(word),
    }
}

fn single(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Words of a shell, each with a space before it.
pub fn appended(words: &[String]) -> String {
    words.iter().map(|word| format!(" {}", quoted(word))).collect()
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;

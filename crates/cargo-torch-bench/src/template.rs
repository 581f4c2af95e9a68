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
    let dashed = if path.starts_with('-') { "./" } else { "" };
    if path.contains('=') {
        single(&format!("{dashed}{path}"))
    } else {
        quoted(&format!("{dashed}{path}"))
    }
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
mod tests {
    use super::*;

    #[test]
    fn every_place_is_filled_and_what_is_filled_in_is_left_alone() {
        let values = [("X", "@Y@"), ("Y", "")];
        assert_eq!(filled("a@v5 @X@ b@Y@\n@X@@", &values), "a@v5 @Y@ b\n@Y@@");
        for (template, values) in [("@X@", &[][..]), ("x", &[("X", "1")])] {
            let values = values.to_vec();
            assert!(std::panic::catch_unwind(move || filled(template, &values)).is_err());
        }
    }

    #[test]
    fn yaml_has_every_value_as_it_was_and_keeps_its_comment() {
        let template =
            "# Why.\na: \"@N@\"\n\"@S@\": [\"@N@\", x@N@]\nb: \"@NONE@\"\nrun: |\n  echo @S@\n";
        // Each is something else in YAML, unless it is quoted.
        for text in [
            "a: b",
            "a #b",
            "- a",
            "true",
            "1e3",
            "~",
            "{a",
            "it's \"a\"",
            "\ta\t",
            " a ",
            "é",
            "%a",
            "!t",
        ] {
            let values = [("N", Value::from(7)), ("S", Value::from(text)), ("NONE", Value::Null)];
            let written = yaml(template, &values);
            assert!(written.starts_with("# Why.\na: 7\n"), "{written}");
            let read: Value = serde_yaml::from_str(&written).expect("YAML");
            assert_eq!(read[text][1], Value::from("x7"), "{written}");
            assert_eq!(read["run"], Value::from(format!("echo {text}\n")), "{written}");
            assert!(read.get("b").is_none(), "{written}");
        }
    }

    #[test]
    fn what_ends_a_line_or_acts_on_a_terminal_is_refused() {
        for bad in ["\n", "\r", "\u{85}", "\u{2028}", "\u{2029}", "\u{1b}", "\u{7f}", "\0"] {
            assert!(one_line(format!("a{bad}b").as_ref()).is_err(), "{bad:?}");
        }
        for good in ["", "a b", "a\tb", "é", "-x", "it's"] {
            assert_eq!(one_line(good.as_ref()), Ok(good.to_owned()));
        }
        let paths = ["-x", "a=b", "/a/b", "Bob's folder", "-a=b"].map(path);
        assert_eq!(paths, ["./-x", "'a=b'", "/a/b", r"'Bob'\''s folder'", "'./-a=b'"]);
    }

    #[test]
    fn a_shell_reads_words_as_they_were() {
        let words = ["plain-1.5", "", "two words", "it's", "$HOME `x` \\ \"", "^a|b$"];
        let line = format!("printf '%s\\n'{}", appended(&words.map(str::to_owned)));
        let output = std::process::Command::new("sh").arg("-c").arg(&line).output();
        let output = output.expect("sh runs");
        assert_eq!(String::from_utf8(output.stdout).expect("text"), words.join("\n") + "\n");
    }
}

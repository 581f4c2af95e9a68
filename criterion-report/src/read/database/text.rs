//! JSON as Python writes and reads it, with words for numbers that are none.

use std::borrow::Cow;

use serde_json::Value;

/// Python's words for non-finite numbers, the longer ones first.
const WORDS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];
/// Marks such a word that became a string. No key and no value contains it by itself.
const MARK: char = '\0';

/// The value of a text in which numbers that are none are [strings](not_finite) of their own.
pub fn parse(text: &str) -> serde_json::Result<Value> {
    serde_json::from_slice(marked(text).as_bytes())
}

/// The word, where the value stands for a number that is none.
pub fn not_finite(value: &Value) -> Option<&str> {
    value.as_str()?.strip_prefix(MARK)
}

/// A value on part of a line.
pub fn brief(value: &Value) -> String {
    const MOST: usize = 40;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The text with a string in the place of each word, and of each number that is beyond all.
fn marked(text: &str) -> Cow<'_, str> {
    let mut out = Cow::Borrowed("");
    let (mut copied, mut place, mut in_string) = (0, 0, false);
    let bytes = text.as_bytes();
    while let Some(&byte) = bytes.get(place) {
        let end = match byte {
            b'"' => {
                in_string = !in_string;
                place + 1
            }
            // An escaped character ends no string.
            b'\\' if in_string => place + 2,
            b'-' | b'0'..=b'9' | b'I' | b'N' if !in_string => {
                let end = token(bytes, place);
                let word = &text[place..end];
                if is_none(word) {
                    let out = out.to_mut();
                    out.push_str(&text[copied..place]);
                    out.push_str(&format!("\"\\u{:04x}{word}\"", u32::from(MARK)));
                    copied = end;
                }
                end
            }
            _ => place + 1,
        };
        place = end;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.to_mut().push_str(&text[copied..]);
    out
}

fn token(bytes: &[u8], start: usize) -> usize {
    let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    start + bytes[start..].iter().take_while(|byte| goes_on(byte)).count()
}

fn is_none(word: &str) -> bool {
    let is_number = word.ends_with(|last: char| last.is_ascii_digit());
    WORDS.contains(&word) || (is_number && word.parse::<f64>().is_ok_and(f64::is_infinite))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_none_are_marked_and_what_stands_in_strings_stays() {
        let text =
            "[1, NaN,\n\"NaN \\\" -Infinity\", -Infinity, Infinity, 1e999, -1.5e3, \"é\\\\\", NaN]";
        let value = parse(text).expect("JSON");
        let items = value.as_array().expect("a list");
        let words: Vec<_> = items.iter().map(not_finite).collect();
        let (nan, minus, plus) = (Some("NaN"), Some("-Infinity"), Some("Infinity"));
        let expected = [None, nan, None, minus, plus, Some("1e999"), None, None, nan];
        assert_eq!(words, expected);
        assert_eq!(items[2], "NaN \" -Infinity");
        assert_eq!(items[6], -1.5e3);
        assert_eq!(items[7], "é\\");
    }

    #[test]
    fn words_that_are_none_of_them_stay_errors() {
        for text in ["[NaNs]", "[Inf]", "[--Infinity]", "NaN NaN", "\"\\"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(matches!(marked("{\"a\": 1e3}"), Cow::Borrowed(_)));
    }
}

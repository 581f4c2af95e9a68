//! Text that others wrote, for people: characters that would steer a terminal, or turn the order in
//! which text is read, are shown as what they are, `\u{1b}`. Files for programs hold them as they are.

use std::borrow::Cow;

/// On one line: breaks and tabs are shown, too.
pub fn line(text: &str) -> Cow<'_, str> {
    shown(text, steers)
}

/// With its own lines and tabs.
pub fn lines(text: &str) -> Cow<'_, str> {
    shown(text, |letter| steers(letter) && !['\n', '\t'].contains(&letter))
}

/// Each on an indented line of its own, below what comes before.
pub fn list<'a>(texts: impl IntoIterator<Item = &'a String>) -> String {
    texts.into_iter().map(|text| format!("\n  {}", line(text))).collect()
}

fn shown(text: &str, is_hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    let Some(first) = text.find(&is_hidden) else { return text.into() };
    let mut out = text[..first].to_owned();
    for letter in text[first..].chars() {
        match letter {
            hidden if is_hidden(hidden) => out.extend(hidden.escape_default()),
            other => out.push(other),
        }
    }
    out.into()
}

/// Whether it does something instead of being seen: control characters, those that set the direction
/// of text, and other systems' ends of lines.
fn steers(letter: char) -> bool {
    match letter {
        // Nearly all letters, and so the first question.
        ' '..='~' => false,
        '\u{61c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{feff}' => true,
        other => other.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_seen() {
        for (text, seen) in [
            ("\x1b[31mred\x1b[0m", r"\u{1b}[31mred\u{1b}[0m"),
            ("a\rb\nc\td\0\x7f", r"a\rb\nc\td\u{0}\u{7f}"),
            ("8-bit \u{9b}2J", r"8-bit \u{9b}2J"),
            ("user\u{202e}txt.exe\u{2066}", r"user\u{202e}txt.exe\u{2066}"),
            ("\u{feff}a\u{2028}b", r"\u{feff}a\u{2028}b"),
        ] {
            assert_eq!(line(text), seen);
        }
        let texts = ["a".to_owned(), "b\nc".to_owned()];
        assert_eq!(list(&texts), "\n  a\n  b\\nc");
        assert_eq!(lines("a\n\tb\r\n\x07"), "a\n\tb\\r\n\\u{7}");
    }

    #[test]
    fn what_is_seen_anyway_stays() {
        for text in ["int8wo/bf16-1x2x3", "σ ±2 % × –, ▲ ⁰ ümläut 🙂", "@\u{200b}c a\u{a0}b", ""]
        {
            assert!(matches!(line(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }
}

//! How configs write a recipe or model of a package.

use super::{LONGEST_WORD, is_plain};

/// A word in which each `<name>` stands for a positive whole number, e.g. `ternary-<group>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spelling {
    text: String,
    parts: Vec<Segment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Other(char),
    /// Digits that belong to the word; all that stand together.
    Digits(String),
    /// `<name>`
    Number(String),
}

/// A text that is no spelling: the problem and the remedy.
pub(crate) type Unusable = (String, &'static str);

impl Spelling {
    /// Reads the text of a constant `SPELLING`.
    pub(crate) fn read(text: &str) -> Result<Self, Unusable> {
        let parts = parts(text)?;
        if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Err((format!("`{text}` does not begin with a letter"), "begin it with one"));
        }
        if text.len() > LONGEST_WORD {
            let message = format!("`{text}` is longer than a part of an id, {LONGEST_WORD} bytes");
            return Err((message, "shorten it"));
        }
        let is_number = |part: &Segment| !matches!(part, Segment::Other(_));
        if parts.windows(2).any(|pair| pair.iter().all(is_number)) {
            let message = format!("`{text}` has a number right beside another");
            return Err((message, "put a letter or `-` between the two, to tell where one ends"));
        }
        Ok(Self { text: text.to_owned(), parts })
    }

    /// `Self::read` of a spelling that a build script has read already; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        Self::read(text).ok()
    }

    /// As its file writes it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The names of its numbers, in their order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Segment::Number(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// The numbers of `word`, if it is spelled like this. Each number has one spelling: no `064`.
    pub fn numbers(&self, word: &str) -> Option<Vec<u64>> {
        let found = parts(word).ok().filter(|found| found.len() == self.parts.len())?;
        let mut numbers = Vec::new();
        for (part, found) in self.parts.iter().zip(&found) {
            match (part, found) {
                (Segment::Number(_), Segment::Digits(digits)) => numbers.push(number(digits)?),
                (part, found) if part == found => {}
                _ => return None,
            }
        }
        Some(numbers)
    }

    /// The spelling with the numbers of `word`, as far as it has some: what a slip in its letters may mean.
    pub(crate) fn filled(&self, word: &str) -> String {
        let mut numbers =
            word.split(|c: char| !c.is_ascii_digit()).filter(|it| number(it).is_some());
        let part = |part: &Segment| match part {
            Segment::Other(c) => c.to_string(),
            Segment::Digits(digits) => digits.clone(),
            Segment::Number(name) => {
                numbers.next().map_or_else(|| format!("<{name}>"), str::to_owned)
            }
        };
        self.parts.iter().map(part).collect()
    }

    /// Whether a word can be spelled like both, where upper and lower case are one: a file system may
    /// not tell them apart.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        overlap(&self.parts, &other.parts)
    }

    /// Whether its first part, up to a `-`, can be `family`.
    pub(crate) fn is_of_family(&self, family: &Self) -> bool {
        let first = self.parts.split(|part| *part == Segment::Other('-')).next();
        overlap(first.unwrap_or_default(), &family.parts)
    }

    /// Whether `word` begins as this does before its first number, and may be a slip in what follows.
    pub(crate) fn is_meant_by(&self, word: &str) -> bool {
        let Some((head, _)) = self.text.split_once('<') else { return false };
        let rest = word.strip_prefix(head.trim_end_matches('-'));
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
    }
}

fn overlap(one: &[Segment], other: &[Segment]) -> bool {
    let fits = |(one, other): (&Segment, &Segment)| match (one, other) {
        (Segment::Other(one), Segment::Other(other)) => one.eq_ignore_ascii_case(other),
        (Segment::Digits(one), Segment::Digits(other)) => one == other,
        (Segment::Number(_), Segment::Number(_)) => true,
        (Segment::Number(_), Segment::Digits(digits))
        | (Segment::Digits(digits), Segment::Number(_)) => number(digits).is_some(),
        _ => false,
    };
    one.len() == other.len() && one.iter().zip(other).all(fits)
}

fn number(digits: &str) -> Option<u64> {
    digits.parse().ok().filter(|_| !digits.starts_with('0'))
}

fn parts(text: &str) -> Result<Vec<Segment>, Unusable> {
    let mut parts: Vec<Segment> = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        if c == '<' {
            let Some(end) = rest.find('>') else {
                return Err((format!("`{text}` has a `<` without a `>`"), "close it"));
            };
            let name = &rest[1..end];
            refuse_name(text, name, &parts)?;
            parts.push(Segment::Number(name.to_owned()));
            length = end + 1;
        } else if !is_plain(c) {
            let message = format!("`{text}` has a `{c}`, which cannot be part of an id");
            return Err((message, "use letters, digits, `_`, `-`, `.` and `<name>`"));
        } else if let (true, Some(Segment::Digits(digits))) = (c.is_ascii_digit(), parts.last_mut())
        {
            digits.push(c);
        } else if c.is_ascii_digit() {
            parts.push(Segment::Digits(c.to_string()));
        } else {
            parts.push(Segment::Other(c));
        }
        rest = &rest[length..];
    }
    Ok(parts)
}

/// The name of a number is that of a field.
fn refuse_name(text: &str, name: &str, before: &[Segment]) -> Result<(), Unusable> {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(is_word) {
        let message = format!("`{text}`: `<{name}>` is not the name of a field");
        return Err((message, "name it with small letters, digits and `_`, e.g. `<group>`"));
    }
    if before.contains(&Segment::Number(name.to_owned())) {
        return Err((format!("`{text}` has `<{name}>` twice"), "give each number its own name"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelling(text: &str) -> Spelling {
        Spelling::read(text).unwrap_or_else(|error| panic!("{text}: {error:?}"))
    }

    #[test]
    fn a_word_gives_its_numbers() {
        for (text, word, numbers) in [
            ("ternary", "ternary", Some(vec![])),
            ("ternary-<group>", "ternary-64", Some(vec![64])),
            ("w<weight_bits>a<activation_bits>", "w4a8", Some(vec![4, 8])),
            ("int<bits>x2", "int16x2", Some(vec![16])),
            ("ternary-<group>", "ternary", None),
            ("ternary-<group>", "ternary-0", None),
            ("ternary-<group>", "ternary-064", None),
            ("ternary-<group>", "ternary-64-hqq", None),
            ("ternary-<group>", "Ternary-64", None),
            ("ternary-<group>", "ternary-99999999999999999999", None),
        ] {
            assert_eq!(spelling(text).numbers(word), numbers, "{text} {word}");
        }
    }

    #[test]
    fn what_cannot_be_spelled_is_refused() {
        for (text, said) in [
            ("", "does not begin with a letter"),
            ("<bits>", "does not begin with a letter"),
            ("4bit", "does not begin with a letter"),
            ("my recipe", "has a ` `"),
            ("a+b", "has a `+`"),
            ("a/b", "has a `/`"),
            ("größe", "has a `ö`"),
            ("a-<bits", "without a `>`"),
            ("a-<>", "is not the name of a field"),
            ("a-<Bits>", "is not the name of a field"),
            ("a-<n>-<n>", "has `<n>` twice"),
            ("a<n>4", "right beside another"),
            ("a<m><n>", "right beside another"),
            (&"x".repeat(65), "longer than a part of an id"),
        ] {
            let (message, _) = Spelling::read(text).expect_err(text);
            assert!(message.contains(said), "{text}: {message}");
        }
    }

    #[test]
    fn two_spellings_of_one_word_are_found() {
        for (one, other, expected) in [
            ("ternary-<group>", "ternary-<k>", true),
            ("ternary-64", "ternary-<k>", true),
            ("ternary-064", "ternary-<k>", false),
            ("Ternary", "ternary", true),
            ("ternary", "ternary-<k>", false),
            ("w<m>a<n>", "w4a8", true),
            ("w<m>a<n>", "w4b8", false),
        ] {
            assert_eq!(spelling(one).overlaps(&spelling(other)), expected, "{one} {other}");
            assert_eq!(spelling(other).overlaps(&spelling(one)), expected, "{other} {one}");
        }
        let is_of = |text: &str, family| spelling(text).is_of_family(&spelling(family));
        assert!(is_of("int8wo-mine", "int8wo") && is_of("int<bits>wo", "int8wo"));
        assert!(!is_of("int8wox", "int8wo") && !is_of("my-int8wo", "int8wo"));
    }

    #[test]
    fn a_slip_after_the_name_means_the_family() {
        for (word, expected) in [
            ("ternary", true),
            ("ternary-0", true),
            ("ternary-64-x", true),
            ("ternary64", true),
            ("ternary_x", false),
            ("ternar-64", false),
        ] {
            assert_eq!(spelling("ternary-<group>").is_meant_by(word), expected, "{word}");
        }
    }
}

//! Words that a package brings: its own recipes and models.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Longest word, in bytes: a part of an id holds it whole.
pub(crate) const LONGEST_WORD: usize = 64;

/// The word of a recipe or model that is not built in. Its file is in the package whose config names it;
/// a record or a plan may hold it where that file is not.
///
/// The text of each word is kept for good, once: there are no more than configs and records name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserWord(&'static str);

impl UserWord {
    /// `None` for text that is no part of an id.
    pub(crate) fn new(text: &str) -> Option<Self> {
        static WORDS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let has_form = text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(is_plain)
            && text.len() <= LONGEST_WORD;
        if !has_form {
            return None;
        }
        let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = words.get(text) {
            return Some(Self(known));
        }
        let kept: &'static str = Box::leak(text.to_owned().into_boxed_str());
        words.insert(kept);
        Some(Self(kept))
    }

    /// The word itself.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for UserWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Whether the character can stand in a word: it keeps its place in ids, directories and filters.
pub(crate) fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_kept_once_and_has_the_form_of_an_id() {
        let word = UserWord::new("ternary-64").expect("it has the form");
        // Another text of the same letters.
        let text = ["ternary", "64"].join("-");
        let again = UserWord::new(&text).expect("it has the form");
        assert!(std::ptr::eq(word.as_str(), again.as_str()));
        for wrong in ["", "64", "-x", "a b", "a+b", "a/b", "ä", &"x".repeat(LONGEST_WORD + 1)] {
            assert_eq!(UserWord::new(wrong), None, "{wrong}");
        }
    }
}

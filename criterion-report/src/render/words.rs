//! Closed sets of words, each word written once.

use crate::render::units;
use crate::visible;

/// An enum whose members are words, in documents as in messages. It derives one of serde's traits.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$member_meta:meta])* $member:ident = $word:literal,)*
    }) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[$member_meta])* #[serde(rename = $word)] $member,)*
        }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$member),*];

            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$member => $word,)*
                }
            }
        }
    };
}

pub(crate) use words;

/// The end of a command's `--help`: an example, and the page of the book that says more.
macro_rules! more {
    ($example:literal, $page:literal) => {
        concat!("Example:\n  ", $example, "\n\nRead more: docs/book/src/", $page)
    };
}

pub(crate) use more;

/// How the gate failed that the flag `--fail-on` names: the lines of its cases; `None` if there are none.
pub fn of_failed_gate(gate: impl clap::ValueEnum, lines: &[String]) -> Option<String> {
    let cases = units::count(lines.len(), "case");
    let text = || format!("--fail-on {}: {cases}:{}", of_flag(gate), visible::list(lines));
    (!lines.is_empty()).then(text)
}

/// The word that a flag has for a value.
pub fn of_flag(value: impl clap::ValueEnum) -> String {
    let word = value.to_possible_value().expect("no word is hidden");
    word.get_name().to_owned()
}

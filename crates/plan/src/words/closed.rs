//! The machinery of a closed set of words.

use std::fmt::Display;
use std::str::FromStr;

use thiserror::Error;

/// A word that is not in its set.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown {what} `{found}`")]
pub struct UnknownWord {
    /// The kind of word that is expected, e.g. `recipe`.
    pub what: &'static str,
    /// The unknown word.
    pub found: String,
    /// The remedy: the nearest word, or all of them.
    pub remedy: String,
}

impl UnknownWord {
    /// An error whose remedy is the word of `allowed` nearest to `found`, or the whole list.
    pub fn new<'a>(
        what: &'static str,
        found: &str,
        allowed: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        Self::among(what, found, &allowed.into_iter().collect::<Vec<_>>())
    }

    /// [`Self::new`] without a generic parameter: each closed set has a list of another length.
    pub(crate) fn among(what: &'static str, found: &str, allowed: &[&str]) -> Self {
        let remedy = match closest(found, allowed.iter().copied()) {
            Some(word) => format!("did you mean `{word}`?"),
            None => format!("use one of: {}", allowed.join(", ")),
        };
        Self { what, found: found.to_owned(), remedy }
    }
}

/// The candidate at the smallest edit distance, if that is small enough to be a slip.
pub(crate) fn closest<'a>(
    found: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // Among words of three letters everything is near everything: `gpu` is no slip for `cpu`.
    let length = found.chars().count();
    let limit = if length > 3 { length.div_ceil(3) } else { 0 };
    candidates
        .into_iter()
        // The distance is at least the difference of the lengths.
        .filter(|word| word.chars().count().abs_diff(length) <= limit)
        .map(|word| (strsim::levenshtein(&found.to_lowercase(), &word.to_lowercase()), word))
        .min_by_key(|&(distance, _)| distance)
        .filter(|&(distance, _)| distance <= limit)
        .map(|(_, word)| word)
}

/// A word of any closed set.
pub(crate) trait Word:
    Copy + PartialEq + Display + FromStr<Err = UnknownWord> + 'static
{
    const EVERY: &'static [Self];

    fn text(self) -> &'static str;
}

/// Defines a closed set: the enum, `ALL`, `as_str`, `FromStr`, `Display` and serde as its word. Behind a
/// word may stand another that is read as it (`"semi-sparse" | "2:4"`). With the name of a type behind the
/// set's, each word stands before its facts, a constant of that type, which `facts` gives.
macro_rules! closed_set {
    ($(#[$meta:meta])* $name:ident, $what:literal, $facts:ty {
        $($(#[$variant_meta:meta])* $variant:ident = $text:literal => $fact:expr),+ $(,)?
    }) => {
        $crate::words::closed::closed_set! {
            $(#[$meta])* $name, $what { $($(#[$variant_meta])* $variant = $text),+ }
        }

        impl $name {
            const fn facts(self) -> &'static $facts {
                match self { $(Self::$variant => &const { $fact }),+ }
            }
        }
    };
    ($(#[$meta:meta])* $name:ident, $what:literal {
        $($(#[$variant_meta:meta])* $variant:ident = $text:literal $(| $alias:literal)?),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$variant_meta])* $variant),+ }

        impl $name {
            /// Every member, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word as a config spells it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl $crate::words::closed::Word for $name {
            const EVERY: &'static [Self] = Self::ALL;

            fn text(self) -> &'static str {
                self.as_str()
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::words::UnknownWord;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($text $(| $alias)? => Ok(Self::$variant),)+
                    _ => {
                        let allowed = &[$($text, $($alias,)?)+];
                        Err($crate::words::UnknownWord::among($what, text, allowed))
                    }
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        $crate::words::closed::serde_as_word!($name);

        $crate::words::closed::schema_is!($name, {
            let others: &[&str] = &[$($($alias,)?)+];
            let words: Vec<&str> = $name::ALL.iter().map(|word| word.as_str()).collect();
            match others {
                [] => ::schemars::json_schema!({ "type": "string", "enum": words }),
                _ => ::schemars::json_schema!({ "type": "string", "minLength": 1 }),
            }
        });
    };
}

/// Defines an enum whose variants hold parameters. Tests know the names of its variants (`VARIANTS`), and
/// fail for one that nothing reads.
macro_rules! listed {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$variant_meta:meta])* $variant:ident $({ $($fields:tt)* })? $(($of:ty))?),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$variant_meta])* $variant $({ $($fields)* })? $(($of))?),+ }

        #[cfg(test)]
        impl $name {
            const VARIANTS: &'static [&'static str] = &[$(stringify!($variant)),+];

            /// The variants that none of `members` is of.
            fn missing(members: impl Iterator<Item = Self>) -> Vec<&'static str> {
                let debug: Vec<_> = members.map(|it| format!("{it:?} ")).collect();
                let is_there = |name: &str| {
                    let is_it = |it: &String| it.split([' ', '(']).next() == Some(name);
                    debug.iter().any(is_it)
                };
                Self::VARIANTS.iter().copied().filter(|name| !is_there(name)).collect()
            }
        }
    };
}

/// Serde through `Display` and `FromStr`, or what else reads a text, so that files hold the words themselves.
macro_rules! serde_as_word {
    ($name:ident) => {
        $crate::words::closed::serde_as_word!($name, str::parse);
    };
    ($name:ident, $read:expr) => {
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = ::std::borrow::Cow::<'de, str>::deserialize(from)?;
                let read: fn(&str) -> Result<Self, $crate::words::UnknownWord> = $read;
                read(&text).map_err(::serde::de::Error::custom)
            }
        }
    };
}

/// The JSON Schema of what writes itself.
macro_rules! schema_is {
    ($name:ident, $schema:expr) => {
        $crate::words::closed::schema_is!($name = stringify!($name), $schema);
    };
    ($name:ident = $published:expr, $schema:expr) => {
        #[cfg(feature = "schema")]
        impl ::schemars::JsonSchema for $name {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                $published.into()
            }

            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                $schema
            }
        }
    };
}

pub(crate) use {closed_set, listed, schema_is, serde_as_word};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_matched_and_nonsense_is_not() {
        let words = ["int8wo", "int8dq", "float8wo", "baseline", "cpu"];
        for (typed, expected) in [
            ("int8w0", Some("int8wo")),
            ("INT8WO", Some("int8wo")),
            ("basline", Some("baseline")),
            ("my_new_quantization", None),
            ("gpu", None),
            ("", None),
        ] {
            assert_eq!(closest(typed, words), expected, "{typed}");
        }
    }
}

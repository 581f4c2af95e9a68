//! Versions of system libraries: numbers with dots between them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A version such as glibc's 2.36, ordered by its numbers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Version(Vec<u32>);

impl Version {
    pub fn parse(text: &str) -> Option<Self> {
        text.split('.').map(|number| number.parse().ok()).collect::<Option<_>>().map(Self)
    }

    /// The newest version among names of symbol versions such as `GLIBC_2.34`. Names without a number, such as
    /// `GLIBC_PRIVATE`, are skipped.
    pub fn newest<'n>(names: impl IntoIterator<Item = &'n String>, prefix: &str) -> Option<Self> {
        names.into_iter().filter_map(|name| Self::parse(name.strip_prefix(prefix)?)).max()
    }
}

impl TryFrom<String> for Version {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` is not a version such as 2.36"))
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.to_string()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<_> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&numbers.join("."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_number_and_not_by_letter() {
        let version = |text| Version::parse(text).expect("a version");
        assert!(version("2.4") < version("2.36"));
        assert!(version("2.2.5") < version("2.3"));
        assert!(version("2") < version("2.0"));
        assert_eq!(version("2.36").to_string(), "2.36");
        for text in ["", "2.", "2.x", "two", "-2"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_newest_symbol_version_counts() {
        let names = ["GLIBC_2.2.5", "GLIBC_2.34", "GLIBC_2.4", "GLIBC_PRIVATE", "GLIBCXX_3.4.30"];
        let names = names.map(str::to_owned);
        assert_eq!(Version::newest(&names, "GLIBC_"), Version::parse("2.34"));
        assert_eq!(Version::newest(&names, "GLIBCXX_"), Version::parse("3.4.30"));
        assert_eq!(Version::newest(&names, "CXXABI_"), None);
    }
}

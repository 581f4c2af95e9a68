//! One line of the doctor's findings.

use std::fmt;

use crate::error::Error;
use crate::name::as_typed;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Ok,
    /// Works without, though less well.
    Warning,
    /// Needed, so the doctor fails.
    Missing,
    /// Not looked at.
    Skipped,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Check {
    pub mark: Mark,
    pub name: &'static str,
    pub found: String,
    pub remedy: Option<String>,
}

impl Check {
    pub fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self { mark: Mark::Ok, name, found: found.into(), remedy: None }
    }

    pub fn skipped(name: &'static str, reason: impl Into<String>) -> Self {
        Self { mark: Mark::Skipped, name, found: reason.into(), remedy: None }
    }

    pub fn warning(
        name: &'static str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { mark: Mark::Warning, name, found: found.into(), remedy: Some(remedy.into()) }
    }

    /// The first way out of an error is the remedy, if it has any.
    pub fn of_error(mark: Mark, name: &'static str, error: &Error, otherwise: &str) -> Self {
        let remedy = error.remedies().first().cloned();
        let remedy = Some(remedy.unwrap_or_else(|| otherwise.to_owned()));
        Self { mark, name, found: error.what().to_owned(), remedy }
    }

    pub fn missing(
        name: &'static str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { mark: Mark::Missing, name, found: found.into(), remedy: Some(remedy.into()) }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mark, name, found, remedy } = self;
        let mark = match mark {
            Mark::Ok => "ok",
            Mark::Warning => "warning",
            Mark::Missing => "missing",
            Mark::Skipped => "skipped",
        };
        writeln!(f, "{mark:<8} {name:<13} {}", as_typed(found))?;
        match remedy {
            Some(remedy) => writeln!(f, "{:22} -> {}", "", as_typed(remedy)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_followed_by_its_remedy() {
        assert_eq!(Check::ok("rustc", "1.95.0").to_string(), "ok       rustc         1.95.0\n");
        assert_eq!(
            Check::missing("python3", "not found", "install it").to_string(),
            "missing  python3       not found\n                       -> install it\n"
        );
    }
}

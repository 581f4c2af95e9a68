//! One line of the doctor's findings.

use std::fmt;

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

/// A gap without a remedy cannot be constructed.
#[derive(Debug, PartialEq, Eq)]
pub struct Check {
    mark: Mark,
    name: &'static str,
    found: String,
    remedy: Option<String>,
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

    pub fn missing(
        name: &'static str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { mark: Mark::Missing, name, found: found.into(), remedy: Some(remedy.into()) }
    }

    pub fn mark(&self) -> Mark {
        self.mark
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn found(&self) -> &str {
        &self.found
    }

    pub fn remedy(&self) -> Option<&str> {
        self.remedy.as_deref()
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
        writeln!(f, "{mark:<8} {name:<13} {found}")?;
        match remedy {
            Some(remedy) => writeln!(f, "{:22} -> {remedy}", ""),
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

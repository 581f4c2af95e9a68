//! A check of the harness, and what it found.

/// Something that is known beforehand and measured here.
pub struct Check {
    /// One word.
    pub name: &'static str,
    /// What is held against what.
    pub what: &'static str,
    /// Measures; as many findings as there are things to find.
    pub run: fn() -> Vec<Finding>,
}

/// One comparison.
pub struct Finding {
    name: String,
    measured: String,
    expected: String,
    verdict: Verdict,
}

enum Verdict {
    Passed,
    Failed,
    Skipped,
}

impl Finding {
    /// Passes if `holds`.
    pub fn new(
        name: impl Into<String>,
        measured: impl Into<String>,
        expected: impl Into<String>,
        holds: bool,
    ) -> Self {
        let verdict = if holds { Verdict::Passed } else { Verdict::Failed };
        Self { name: name.into(), measured: measured.into(), expected: expected.into(), verdict }
    }

    /// Something that this machine lacks.
    pub fn skipped(name: impl Into<String>, reason: impl Into<String>) -> Self {
        let (name, measured) = (name.into(), reason.into());
        Self { name, measured, expected: String::new(), verdict: Verdict::Skipped }
    }

    /// Something that went wrong.
    pub fn error(name: impl Into<String>, error: impl std::fmt::Display) -> Self {
        Self::new(name, error.to_string(), "no error", false)
    }

    /// Whether the check failed.
    pub fn is_failure(&self) -> bool {
        matches!(self.verdict, Verdict::Failed)
    }

    /// One line on standard output.
    pub fn print(&self) {
        let Self { name, measured, expected, verdict } = self;
        match verdict {
            Verdict::Passed => println!("  passed   {name}: {measured}; expected {expected}"),
            Verdict::Failed => println!("  FAILED   {name}: {measured}; expected {expected}"),
            Verdict::Skipped => println!("  skipped  {name}: {measured}"),
        }
    }
}

//! A check of the harness, and what it found.

use criterion_torch::device::resolve;
use criterion_torch::refusal::Refusal;
use plan::Device;
use serde::{Deserialize, Serialize};

/// Something that is known beforehand and measured here.
pub struct Check {
    /// One word.
    pub name: &'static str,
    /// The two values that are compared.
    pub what: &'static str,
    /// The device that it measures.
    pub device: Device,
    /// Measures; as many findings as there are things to find.
    pub run: fn() -> Result<Vec<Finding>, Refusal>,
}

impl Check {
    /// Its findings; or a single one that says why there are none: there is no such device, it
    /// lacks something, or something went wrong.
    pub fn findings(&self) -> Vec<Finding> {
        match resolve(self.device).and_then(|_| (self.run)()) {
            Ok(findings) => findings,
            Err(Refusal::Skipped(reason) | Refusal::Unsupported(reason)) => {
                vec![Finding::skipped(self.name, reason)]
            }
            Err(error) => vec![Finding::error(self.name, error)],
        }
    }
}

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Text,
    Json,
}

/// One comparison.
#[derive(Debug, Serialize, Deserialize)]
pub struct Finding {
    name: String,
    measured: String,
    expected: String,
    verdict: Verdict,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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

    /// Names the checked part in front of the check's name.
    pub fn prefixed(mut self, part: &str) -> Self {
        self.name = format!("{part}: {}", self.name);
        self
    }

    /// One line about what `check` has found.
    pub fn line(&self, check: &str, format: Format) -> String {
        #[derive(Serialize)]
        struct Line<'f> {
            check: &'f str,
            #[serde(flatten)]
            finding: &'f Finding,
        }
        let Self { name, measured, expected, verdict } = self;
        match (format, verdict) {
            (Format::Json, _) => {
                serde_json::to_string(&Line { check, finding: self }).expect("texts are JSON")
            }
            (_, Verdict::Passed) => format!("  passed   {name}: {measured}; expected {expected}"),
            (_, Verdict::Failed) => format!("  FAILED   {name}: {measured}; expected {expected}"),
            (_, Verdict::Skipped) => format!("  skipped  {name}: {measured}"),
        }
    }
}

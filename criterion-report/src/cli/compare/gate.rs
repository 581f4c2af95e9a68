//! The gates of a comparison.

use crate::compare::{Compared, Comparison, Finding, Measure, Side, Verdict, reasons};
use crate::render::words;

/// Words of `--fail-on`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Gate {
    /// A time, memory or energy regressed, or what was measured fails now
    Regression,
    /// An error regressed
    Accuracy,
    /// A case that was measured has no result now
    Missing,
    /// Noise hides whether a case is another
    Inconclusive,
    /// A case fails now, whatever it did earlier
    Failure,
}

impl Gate {
    /// Whether it takes two sides.
    pub fn compares(self) -> bool {
        self != Self::Failure
    }

    /// The failed gate with its cases line by line; `None` if it holds.
    pub fn failed(self, comparison: Option<&Comparison>, b: &Side) -> Option<String> {
        let cases = comparison.into_iter().flat_map(|it| &it.cases);
        let lines: Vec<String> = match self {
            Self::Failure => b.failures(),
            _ => cases.filter_map(|case| self.failed_by(case)).collect(),
        };
        words::of_failed_gate(self, &lines)
    }

    fn failed_by(self, case: &Compared) -> Option<String> {
        let fails = |finding: &&Finding| match self {
            Self::Regression => {
                finding.verdict == Verdict::Regressed && finding.measure != Measure::Accuracy
            }
            Self::Accuracy => {
                finding.verdict == Verdict::Regressed && finding.measure == Measure::Accuracy
            }
            Self::Missing => finding.verdict == Verdict::Missing,
            // One of energy alone may not be the case's.
            Self::Inconclusive => {
                case.verdict == Verdict::Inconclusive && finding.verdict == Verdict::Inconclusive
            }
            Self::Failure => false,
        };
        let reasons = reasons(case.findings.iter().filter(fails)).into_iter();
        let reasons: Vec<String> = reasons
            .map(|(measures, reason)| {
                let words: Vec<&str> = measures.into_iter().map(Measure::word).collect();
                format!("{}: {reason}", words.join(" and "))
            })
            .collect();
        (!reasons.is_empty()).then(|| format!("{}: {}", case.full_id, reasons.join("; ")))
    }
}

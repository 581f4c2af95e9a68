//! What a run may be refused for.

use crate::model::Interval;
use crate::model::kernels::{Change, Changed, Changes, KernelResult, Uncompared};
use crate::{units, visible};

/// Words of `--fail-on`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Gate {
    /// A time is longer by more than the threshold, the whole interval above 1; or what was
    /// measured fails now
    Regression,
    /// An error is larger by more than the threshold
    Accuracy,
    /// What was measured has no result now
    Missing,
    /// A case fails, whatever it did earlier; the only one that needs no --compare-to
    Failure,
}

impl Gate {
    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::Accuracy => "accuracy",
            Self::Missing => "missing",
            Self::Failure => "failure",
        }
    }

    /// What failed it, its cases line by line; nothing if it holds.
    pub fn failed(self, changes: Option<&Changes>, results: &[KernelResult<'_>]) -> Option<String> {
        let regressions = changes.map(|changes| changes.regressions.as_slice()).unwrap_or_default();
        let is_error = |it: &&Changed| matches!(it.change, Change::Accuracy { .. });
        let lines: Vec<String> = match self {
            Gate::Regression => regressions.iter().filter(|it| !is_error(it)).map(line).collect(),
            Gate::Accuracy => regressions.iter().filter(is_error).map(line).collect(),
            Gate::Missing => {
                let missing = changes.map(|changes| changes.missing.as_slice()).unwrap_or_default();
                let line =
                    |Uncompared { full_id, reason }: &Uncompared| format!("{full_id}: {reason}");
                missing.iter().map(line).collect()
            }
            Gate::Failure => {
                let failed = results.iter().filter(|result| result.is_failure());
                failed
                    .map(|result| format!("{}: {}", result.full_id, result.point().ended()))
                    .collect()
            }
        };
        if lines.is_empty() {
            return None;
        }
        let cases = units::count(lines.len(), "case");
        Some(format!("--fail-on {}: {cases}:{}", self.word(), visible::list(&lines)))
    }
}

fn line(changed: &Changed) -> String {
    let text = match &changed.change {
        Change::Latency { before_ns, after_ns, ratio, .. } => {
            let interval = Interval { low: ratio.low, high: ratio.high };
            format!(
                "{} to {}, {}",
                units::time(*before_ns),
                units::time(*after_ns),
                units::ratio(ratio.ratio, Some(interval))
            )
        }
        Change::Accuracy { measure, before, after } => {
            format!("{measure} {} to {}", units::error(*before), units::error(*after))
        }
        Change::Failure { before, after } => format!("{before} to {after}"),
    };
    format!("{}: {text}", changed.full_id)
}

//! The gates of a run.

use crate::compare::Verdict;
use crate::render::{units, words};
use crate::views::kernels::text::numbers;
use crate::views::kernels::{Changed, Changes, KernelResult};

/// Words of `--fail-on`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Gate {
    /// A time is longer by more than the threshold, the whole interval above 1; or what was
    /// measured fails now
    Regression,
    /// An error is larger by more than the threshold
    Accuracy,
    /// A case that was measured has no result now
    Missing,
    /// A case fails, whatever it did earlier; the only one that needs no --compare-to
    Failure,
}

impl Gate {
    /// The failed gate with its cases line by line; `None` if it holds.
    pub fn failed(self, changes: Option<&Changes>, results: &[KernelResult<'_>]) -> Option<String> {
        let of = |verdict| changes.map(|changes| changes.of(verdict)).unwrap_or_default();
        let regressed = |is_error: bool| -> Vec<String> {
            let own = of(Verdict::Regressed).into_iter().filter(|it| it.is_error() == is_error);
            own.map(line).collect()
        };
        let lines: Vec<String> = match self {
            Gate::Regression => regressed(false),
            Gate::Accuracy => regressed(true),
            Gate::Missing => {
                let line = |it: &Changed| format!("{}: {}", it.full_id, it.found.reason);
                of(Verdict::Missing).into_iter().map(line).collect()
            }
            Gate::Failure => {
                let failed = results.iter().filter(|result| result.is_failure());
                failed
                    .map(|result| format!("{}: {}", result.full_id, result.point.ended()))
                    .collect()
            }
        };
        words::of_failed_gate(self, &lines)
    }
}

fn line(changed: &Changed) -> String {
    let [before, after] = numbers(changed).unwrap_or_else(|| changed.ended.clone());
    let what = if changed.is_error() { format!("{} ", changed.found.name) } else { String::new() };
    let ratio = changed.ratio().map(|(ratio, bounds)| units::ratio(ratio, Some(bounds)));
    let ratio = ratio.map(|ratio| format!(", {ratio}")).unwrap_or_default();
    format!("{}: {what}{before} to {after}{ratio}", changed.full_id)
}

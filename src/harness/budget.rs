//! A total budget (`--budget`): every case gets its minimum time, and the rest goes to the speed-ups that are still
//! undecided ([`super::rounds`]).

use std::path::{Path, PathBuf};

use plan::budget::{self, Entry, Need, SHARED, Shared};
use plan::estimate::{Basis, Estimate};
use plan::{Case, Outcome, Role};

use super::clock::Stopwatch;

/// Seconds that criterion's samples of a case may take. They may be few: speed-ups come from pairs, so the case's own
/// time need not be precise.
pub const SAMPLING_S: f64 = 0.1;

/// The total time of a run, and how much of it is left.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    total_s: f64,
    watch: Stopwatch,
    /// Seconds for each candidate's pair if the rest is divided equally.
    share_s: f64,
}

impl Budget {
    /// The budget of a run, if it has one, from now on: its share where several targets have one together.
    ///
    /// # Errors
    /// When it is smaller than the least that the cases take, with that number and the remedy. Whether all targets
    /// together have enough was checked before they ran.
    pub fn of_run(
        total_s: Option<f64>,
        target: &str,
        estimates: &[(&Case, Estimate)],
    ) -> Result<Option<Self>, String> {
        let Some(total_s) = total_s else { return Ok(None) };
        let total_s = match shared_file() {
            Some(file) => {
                let shared = Shared::read(&file).map_err(|error| not_shared(&file, &error))?;
                shared.share_s(total_s, target)
            }
            None => {
                budget::check(total_s, least_s(estimates), estimates.len())?;
                total_s
            }
        };
        Ok(Some(Self::new(total_s, estimates)))
    }

    pub(super) fn new(total_s: f64, estimates: &[(&Case, Estimate)]) -> Self {
        let candidates = estimates.iter().filter(|(case, _)| case.role == Role::Candidate).count();
        let left_s = (total_s - least_s(estimates)).max(0.0);
        let share_s = left_s / candidates.max(1) as f64;
        Self { total_s, watch: Stopwatch::start(), share_s }
    }

    /// Restarts the clock, because the time before, such as compiling, does not count as measuring.
    pub fn begin(&mut self) {
        self.watch = Stopwatch::start();
    }

    /// Seconds until it is spent.
    pub fn left_s(&self) -> f64 {
        (self.total_s - self.watch.seconds()).max(0.0)
    }

    /// Seconds for the pair of one candidate if all get the same.
    pub fn share_s(&self) -> f64 {
        self.share_s
    }

    /// The outcome of a case that has no time left; `None` while there is some.
    pub fn spent(&self) -> Option<Outcome> {
        (self.left_s() <= 0.0).then(|| {
            let reason = format!(
                "the total budget of {} (`--budget`) was spent before it; give more, or select fewer cases",
                budget::seconds(self.total_s)
            );
            Outcome::Timeout { reason }
        })
    }

    /// Tells the targets that share the budget how long this one took.
    pub fn tell_spent(&self, target: &str) -> Result<(), String> {
        let spent = Entry::Spent { target: target.to_owned(), seconds: self.watch.seconds() };
        tell(&spent)
    }
}

/// Whether this target has one budget with others.
pub fn is_shared() -> bool {
    shared_file().is_some()
}

/// The file of the budget that this target shares with others.
fn shared_file() -> Option<PathBuf> {
    std::env::var_os(SHARED).filter(|file| !file.is_empty()).map(PathBuf::from)
}

/// Tells the targets that share a budget how long this one's cases take at least.
pub fn tell_need(target: &str, estimates: &[(&Case, Estimate)]) -> Result<(), String> {
    let (target, cases) = (target.to_owned(), estimates.len());
    tell(&Entry::Need(Need { target, cases, least_s: least_s(estimates) }))
}

fn tell(entry: &Entry) -> Result<(), String> {
    let Some(file) = shared_file() else { return Ok(()) };
    entry.append(&file).map_err(|error| not_shared(&file, &error))
}

fn not_shared(file: &Path, error: &std::io::Error) -> String {
    format!("--budget: {SHARED} names {}, which all bench targets share: {error}", file.display())
}

/// The least that the cases take. Defaults may be those of a slower machine, so they refuse a budget only by twice as much.
fn least_s(estimates: &[(&Case, Estimate)]) -> f64 {
    /// Measured with bfloat16's own instructions and without.
    const SURE: f64 = 0.5;
    let sure = |it: &Estimate| if it.basis == Basis::Defaults { SURE } else { 1.0 };
    estimates.iter().map(|(_, estimate)| sure(estimate) * estimate.least_s).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spent_budget_ends_cases_and_says_so() {
        let mut budget = Budget::new(0.0, &[]);
        let Some(Outcome::Timeout { reason }) = budget.spent() else { panic!("it is spent") };
        assert!(reason.contains("0s (`--budget`)"), "{reason}");
        budget.total_s = 1e6;
        assert_eq!(budget.spent(), None);
    }
}

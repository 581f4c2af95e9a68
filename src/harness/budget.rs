//! A total budget (`--budget`): every case gets its minimum time, and the rest goes to the speed-ups that are still
//! undecided ([`super::rounds`]).

use std::time::Duration;

use plan::estimate::Estimate;
use plan::{Case, Outcome, Role};

use super::clock::Stopwatch;
use super::progress::rough;

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
    /// A budget that begins now.
    ///
    /// # Errors
    /// When it is smaller than the minimum that the cases take; the error names that minimum and the remedy.
    pub fn of(total_s: f64, estimates: &[(&Case, Estimate)]) -> Result<Self, String> {
        let least_s: f64 = estimates.iter().map(|(_, estimate)| estimate.least_s).sum();
        if least_s > total_s {
            return Err(too_small(total_s, least_s, estimates.len()));
        }
        let candidates = estimates.iter().filter(|(case, _)| case.role == Role::Candidate).count();
        let share_s = (total_s - least_s) / candidates.max(1) as f64;
        Ok(Self { total_s, watch: Stopwatch::start(), share_s })
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
                seconds(self.total_s)
            );
            Outcome::Timeout { reason }
        })
    }
}

fn too_small(total_s: f64, least_s: f64, cases: usize) -> String {
    /// The suggested budget is larger than the minimum: the estimate may be low, and pairs should get some time, too.
    const ENOUGH: f64 = 1.5;
    format!(
        "--budget {}: to check and sample {cases} cases once takes {} at least; give --budget {}, or \
         select fewer cases with a filter",
        seconds(total_s),
        rough(Duration::from_secs_f64(least_s)),
        seconds((ENOUGH * least_s).ceil()),
    )
}

/// Seconds in the form that `--budget` takes.
fn seconds(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 120.0 => format!("{seconds:.0}s"),
        seconds => format!("{:.0}min", (seconds / 60.0).ceil()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_below_the_least_is_refused_with_the_number_and_the_remedy() {
        let refused = too_small(10.0, 100.0, 48);
        let expected = "--budget 10s: to check and sample 48 cases once takes about 2 min at least; give \
                        --budget 3min, or select fewer cases with a filter";
        assert_eq!(refused, expected);
        assert!(Budget::of(1.0, &[]).is_ok());
    }

    #[test]
    fn a_spent_budget_ends_cases_and_says_so() {
        let mut budget = Budget::of(0.0, &[]).expect("nothing takes no time");
        let Some(Outcome::Timeout { reason }) = budget.spent() else { panic!("it is spent") };
        assert!(reason.contains("0s (`--budget`)"), "{reason}");
        budget.total_s = 1e6;
        assert_eq!(budget.spent(), None);
    }
}

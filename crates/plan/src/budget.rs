//! A total time (`--budget`), and how several bench targets share one.
//!
//! `cargo torch-bench` runs several bench targets in one budget, each in a process of its own. It names a file in
//! [`SHARED`]. A target that lists its cases writes there how long they take at least; a target that measures takes
//! its share of what is left, and writes how long it took. Compiling counts in neither.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The variable that names the file.
pub const SHARED: &str = "CRITERION_TORCH_BUDGET_SHARED";

/// A bench target's cases, and how long they take at least.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Need {
    /// The bench target.
    pub target: String,
    /// How many cases it has.
    pub cases: usize,
    /// The seconds that they take at least, as estimated.
    pub least_s: f64,
}

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// Written when the cases are listed.
    Need(Need),
    /// Written when they are measured.
    Spent {
        /// The bench target.
        target: String,
        /// The seconds that it took.
        seconds: f64,
    },
}

impl Entry {
    /// Adds it to the file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn append(&self, file: &Path) -> io::Result<()> {
        let mut line = serde_json::to_string(self)?;
        line.push('\n');
        OpenOptions::new().append(true).create(true).open(file)?.write_all(line.as_bytes())
    }
}

/// A budget that several bench targets share.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shared {
    /// Needs of targets that have not run yet, in the order in which they will.
    open: Vec<Need>,
    spent_s: f64,
}

impl Shared {
    /// Reads the file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(file: &Path) -> io::Result<Self> {
        let mut shared = Self::default();
        for line in fs::read_to_string(file)?.lines() {
            match serde_json::from_str(line)? {
                Entry::Need(need) => shared.open.push(need),
                Entry::Spent { target, seconds } => {
                    shared.spent_s += seconds;
                    if let Some(ended) = shared.open.iter().position(|it| it.target == target) {
                        shared.open.remove(ended);
                    }
                }
            }
        }
        Ok(shared)
    }

    /// Seconds of a total budget for the target that runs now: by the least that it and those after it take, so
    /// that what one target leaves goes to the next ones.
    pub fn share_s(&self, total_s: f64, target: &str) -> f64 {
        let left_s = (total_s - self.spent_s).max(0.0);
        let own = self.open.iter().find(|it| it.target == target);
        match (own, self.least_s()) {
            (Some(own), least_s) if least_s > 0.0 => left_s * own.least_s / least_s,
            _ => left_s,
        }
    }

    /// Whether a total budget is enough for all targets.
    ///
    /// # Errors
    /// When it is not, with what would be enough.
    pub fn check(&self, total_s: f64) -> Result<(), String> {
        check(total_s, self.least_s(), self.open.iter().map(|it| it.cases).sum())
    }

    fn least_s(&self) -> f64 {
        self.open.iter().map(|it| it.least_s).sum()
    }
}

/// Whether a total budget is enough for so many cases that take `least_s` at least.
///
/// # Errors
/// When it is not, with what would be enough.
pub fn check(total_s: f64, least_s: f64, cases: usize) -> Result<(), String> {
    /// The suggested budget is larger than the minimum: the estimate may be low, and pairs should get some time, too.
    const ENOUGH: f64 = 1.5;
    if least_s <= total_s {
        return Ok(());
    }
    Err(format!(
        "--budget {}: to check and sample {cases} cases once takes about {} at least; give --budget {}, or \
         select fewer cases with a filter",
        seconds(total_s),
        seconds(least_s),
        seconds(ENOUGH * least_s),
    ))
}

/// Seconds, rounded up, in the form that `--budget` takes.
pub fn seconds(seconds: f64) -> String {
    match seconds.ceil() {
        seconds if seconds < 120.0 => format!("{seconds:.0}s"),
        seconds => format!("{:.0}min", (seconds / 60.0).ceil()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(target: &str, least_s: f64) -> Entry {
        Entry::Need(Need { target: target.to_owned(), cases: 10, least_s })
    }

    fn spent(target: &str, seconds: f64) -> Entry {
        Entry::Spent { target: target.to_owned(), seconds }
    }

    #[test]
    fn every_target_has_its_least_and_leaves_what_it_does_not_take() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("budget");
        let add = |entry: Entry| entry.append(&file).expect("written");
        let share_s = |target| Shared::read(&file).expect("readable").share_s(600.0, target);
        let needs = [need("calibration", 40.0), need("fusion", 60.0), need("inference", 100.0)];
        needs.into_iter().for_each(add);
        assert_eq!(share_s("calibration"), 120.0);
        add(spent("calibration", 40.0));
        assert_eq!(share_s("fusion"), 560.0 * 60.0 / 160.0);
        add(spent("fusion", 160.0));
        assert_eq!(share_s("inference"), 400.0, "all that is left");
        add(spent("inference", 500.0));
        assert_eq!(share_s("inference"), 0.0);
    }

    #[test]
    fn a_budget_below_the_least_is_refused_with_the_number_and_the_remedy() {
        let refused = check(10.0, 100.0, 48).unwrap_err();
        let expected = "--budget 10s: to check and sample 48 cases once takes about 100s at least; give \
                        --budget 3min, or select fewer cases with a filter";
        assert_eq!(refused, expected);
        assert_eq!(check(100.0, 100.0, 48), Ok(()));
    }

    #[test]
    fn what_all_targets_need_is_what_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("budget");
        for need in [need("a", 40.0), need("b", 60.0)] {
            need.append(&file).expect("written");
        }
        let shared = Shared::read(&file).expect("readable");
        assert_eq!(shared.check(100.0), Ok(()));
        let refused = shared.check(99.0).unwrap_err();
        assert!(refused.contains("sample 20 cases once takes about 100s at least"), "{refused}");
    }
}

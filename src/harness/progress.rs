//! Progress on stderr: which case is next, and about how long the rest will take.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::budget::Budget;
use super::streams;

/// For as many seconds the estimate is taken to be right.
const DAMPING_S: f64 = 10.0;

/// Estimates what is left from what was expected and what it really took.
#[derive(Debug)]
pub struct Progress {
    /// The activity that the line names; empty for measuring.
    doing: &'static str,
    total: usize,
    /// Expected seconds of each case that is left, by id.
    left_s: HashMap<String, f64>,
    expected_done_s: f64,
    started: Instant,
    /// Set when a total budget determines the remaining time.
    budget: Option<Budget>,
}

impl Progress {
    /// Progress through cases with the expected seconds of each.
    pub fn new(expected_s: impl IntoIterator<Item = (String, f64)>) -> Self {
        Self::with_activity("", expected_s)
    }

    /// As `new`, for an activity other than measuring.
    pub fn with_activity(
        doing: &'static str,
        expected_s: impl IntoIterator<Item = (String, f64)>,
    ) -> Self {
        let left_s: HashMap<String, f64> = expected_s.into_iter().collect();
        let (total, started) = (left_s.len(), Instant::now());
        Self { doing, total, left_s, expected_done_s: 0.0, started, budget: None }
    }

    /// A line with a total budget, which determines the remaining time.
    pub(super) fn with_budget(self, budget: Option<Budget>) -> Self {
        Self { budget, ..self }
    }

    /// Announces the next case, while pairs wait for `later_s` seconds of further looks; what to say of it if it takes longer than expected.
    pub fn next(&self, full_id: &str, later_s: f64) -> Overrun {
        let elapsed = self.started.elapsed();
        let left = rough(self.left(elapsed, later_s));
        let number = self.total - self.left_s.len() + 1;
        let case = format!("{number}/{}", self.total);
        streams::say(&format!("{}[{case}, {left} left] {full_id}", self.doing));
        self.overrun(&case, full_id, elapsed.as_secs_f64())
    }

    fn overrun(&self, case: &str, full_id: &str, before_s: f64) -> Overrun {
        let expected_s = self.left_s.get(full_id).copied().unwrap_or_default();
        Overrun {
            case: case.to_owned(),
            full_id: full_id.to_owned(),
            expected_s,
            others_s: self.others_s(full_id),
            done_s: self.expected_done_s + expected_s,
            before_s,
            next_s: 2.0 * expected_s + DAMPING_S,
        }
    }

    /// Seconds that the cases are expected to take which are not done, all but this one.
    pub fn others_s(&self, full_id: &str) -> f64 {
        let others = self.left_s.iter().filter(|(other, _)| *other != full_id);
        others.map(|(_, seconds)| seconds).sum()
    }

    /// Counts a case as done, but for `later_s` seconds of further looks at its pair.
    pub fn done(&mut self, full_id: &str, later_s: f64) {
        let expected_s = self.left_s.remove(full_id).unwrap_or_default();
        self.expected_done_s += (expected_s - later_s).max(0.0);
    }

    /// Announces the further looks of all `pairs`, which take `seconds` at most.
    pub fn looks_again(&mut self, pairs: usize, seconds: f64) {
        let left = rough(self.left(self.started.elapsed(), seconds));
        let (done, total) = (self.total - self.left_s.len(), self.total);
        let pairs = if pairs == 1 { "1 speed-up".to_owned() } else { format!("{pairs} speed-ups") };
        eprintln!("[{done}/{total}, {left} left] further looks at {pairs}");
        self.expected_done_s += seconds;
    }

    /// The time that is expected to be left.
    fn left(&self, elapsed: Duration, later_s: f64) -> Duration {
        if let Some(budget) = self.budget {
            return Duration::from_secs_f64(budget.left_s());
        }
        let left_s = later_s + self.left_s.values().sum::<f64>();
        scaled(left_s, elapsed.as_secs_f64(), self.expected_done_s)
    }
}

/// `left_s` scaled by how the estimate has held so far: `elapsed_s` where `expected_s` were expected.
fn scaled(left_s: f64, elapsed_s: f64, expected_s: f64) -> Duration {
    // The first cases say little about the others.
    let scale = (elapsed_s + DAMPING_S) / (expected_s + DAMPING_S);
    Duration::try_from_secs_f64(left_s * scale).unwrap_or(Duration::MAX)
}

/// The message about a case that takes much longer than expected.
#[derive(Debug)]
pub struct Overrun {
    case: String,
    full_id: String,
    expected_s: f64,
    /// Expected of the cases after it.
    others_s: f64,
    /// Expected of all up to and with it.
    done_s: f64,
    /// Seconds of the run before it.
    before_s: f64,
    /// When it is said, in seconds of the case.
    next_s: f64,
}

impl Overrun {
    /// A line, if the case has run for so many seconds that one is due; the next is due when it has
    /// run for twice as long.
    pub fn word(&mut self, seconds: f64) -> Option<String> {
        if seconds < self.next_s {
            return None;
        }
        self.next_s = 2.0 * seconds;
        let Self { case, full_id, expected_s, others_s, done_s, before_s, .. } = self;
        let after = match *others_s {
            others_s if others_s > 0.0 => {
                let left = scaled(others_s, *before_s + seconds, *done_s);
                format!(", {} left after it", rough(left))
            }
            _ => String::new(),
        };
        let [so_far, expected] = [seconds, *expected_s]
            .map(|it| rough(Duration::try_from_secs_f64(it).unwrap_or_default()));
        Some(format!("[{case}{after}] {full_id}: runs for {so_far}, expected were {expected}"))
    }
}

/// A duration as a person would say it.
pub fn rough(duration: Duration) -> String {
    match duration.as_secs() {
        0..=89 => format!("about {} s", duration.as_secs().max(1)),
        90..=5399 => format!("about {} min", (duration.as_secs() + 30) / 60),
        seconds => format!("about {:.1} h", seconds as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_follows_what_really_happened() {
        let cases = [("a", 2.0), ("b", 2.0), ("c", 4.0)];
        let mut progress = Progress::new(cases.map(|(id, seconds)| (id.to_owned(), seconds)));
        assert_eq!(progress.left(Duration::ZERO, 0.0), Duration::from_secs(8));
        progress.done("b", 0.0);
        // It took three times as long as expected, which is no reason to expect that of all.
        assert_eq!(progress.left(Duration::from_secs(6), 0.0), Duration::from_secs(8));
        progress.done("a", 0.0);
        // By now it is: (44 + 10) / (4 + 10) of 4 s.
        let left = progress.left(Duration::from_secs(44), 0.0).as_secs_f64();
        assert!((left - 4.0 * 54.0 / 14.0).abs() < 1e-6, "{left}");
    }

    #[test]
    fn a_case_that_overruns_is_told_and_so_is_what_it_means_for_the_rest() {
        let cases = [("a", 2.0), ("b", 2.0), ("c", 4.0)];
        let mut progress = Progress::new(cases.map(|(id, seconds)| (id.to_owned(), seconds)));
        progress.done("a", 0.0);
        let mut overrun = progress.overrun("2/3", "b", 2.0);
        assert_eq!(overrun.word(13.9), None, "no case is told for 10 s");
        // (42 + 10) / (4 + 10) of 4 s.
        let text =
            "[2/3, about 14 s left after it] b: runs for about 40 s, expected were about 2 s";
        assert_eq!(overrun.word(40.0).as_deref(), Some(text));
        assert_eq!(overrun.word(79.0), None);
        assert!(overrun.word(80.0).is_some());
        progress.done("b", 0.0);
        let last = progress.overrun("3/3", "c", 82.0).word(100.0);
        let text = "[3/3] c: runs for about 2 min, expected were about 4 s";
        assert_eq!(last.as_deref(), Some(text), "nothing is left after it");
    }

    #[test]
    fn durations_are_rounded_to_what_is_meant() {
        for (seconds, text) in
            [(0, "about 1 s"), (59, "about 59 s"), (150, "about 3 min"), (9000, "about 2.5 h")]
        {
            assert_eq!(rough(Duration::from_secs(seconds)), text);
        }
    }
}

//! Progress on stderr: which case is next, and about how long the rest will take.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// For as many seconds the estimate is taken to be right.
const DAMPING_S: f64 = 10.0;

/// Estimates what is left from what was expected and what it really took.
#[derive(Debug)]
pub struct Progress {
    total: usize,
    /// Expected seconds of each case that is left, by id.
    left_s: HashMap<String, f64>,
    expected_done_s: f64,
    started: Instant,
}

impl Progress {
    /// Progress through cases with the expected seconds of each.
    pub fn new(expected_s: impl IntoIterator<Item = (String, f64)>) -> Self {
        let left_s: HashMap<String, f64> = expected_s.into_iter().collect();
        Self { total: left_s.len(), left_s, expected_done_s: 0.0, started: Instant::now() }
    }

    /// Announces the next case.
    pub fn next(&self, full_id: &str) {
        let left = rough(self.left(self.started.elapsed()));
        let number = self.total - self.left_s.len() + 1;
        eprintln!("[{number}/{}, {left} left] {full_id}", self.total);
    }

    /// Counts a case as done.
    pub fn done(&mut self, full_id: &str) {
        self.expected_done_s += self.left_s.remove(full_id).unwrap_or_default();
    }

    /// What is expected to be left, scaled by how the estimate has held so far.
    fn left(&self, elapsed: Duration) -> Duration {
        // The first cases say little about the others.
        let scale = (elapsed.as_secs_f64() + DAMPING_S) / (self.expected_done_s + DAMPING_S);
        let left_s: f64 = self.left_s.values().sum();
        Duration::try_from_secs_f64(left_s * scale).unwrap_or(Duration::MAX)
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
        assert_eq!(progress.left(Duration::ZERO), Duration::from_secs(8));
        progress.done("b");
        // It took three times as long as expected, which is no reason to expect that of all.
        assert_eq!(progress.left(Duration::from_secs(6)), Duration::from_secs(8));
        progress.done("a");
        // By now it is: (44 + 10) / (4 + 10) of 4 s.
        let left = progress.left(Duration::from_secs(44)).as_secs_f64();
        assert!((left - 4.0 * 54.0 / 14.0).abs() < 1e-6, "{left}");
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

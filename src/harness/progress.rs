//! Progress on stderr: which case is next, and about how long the rest will take.

use std::time::{Duration, Instant};

/// Estimates what is left from what was expected and what it really took.
#[derive(Debug)]
pub struct Progress {
    total: usize,
    done: usize,
    expected_left_s: f64,
    expected_done_s: f64,
    /// Whether there is anything to say: only a measuring run is long.
    shown: bool,
    started: Instant,
}

impl Progress {
    /// Progress through `expected_s`, the expected seconds of each selected case.
    pub fn new(expected_s: impl Iterator<Item = f64>, shown: bool) -> Self {
        let (total, expected_left_s) =
            expected_s.fold((0, 0.0), |(count, sum), seconds| (count + 1, sum + seconds));
        Self {
            total,
            done: 0,
            expected_left_s,
            expected_done_s: 0.0,
            shown,
            started: Instant::now(),
        }
    }

    /// Announces the next case.
    pub fn next(&self, full_id: &str) {
        if self.shown {
            let left = self.left(self.started.elapsed());
            eprintln!("[{}/{}, {} left] {full_id}", self.done + 1, self.total, rough(left));
        }
    }

    /// Counts a case that took part in the estimate with `expected_s`.
    pub fn done(&mut self, expected_s: f64) {
        self.done += 1;
        self.expected_left_s -= expected_s;
        self.expected_done_s += expected_s;
    }

    /// What is expected to be left, scaled by how the estimate has held so far.
    fn left(&self, elapsed: Duration) -> Duration {
        let scale = if self.expected_done_s > 0.0 {
            elapsed.as_secs_f64() / self.expected_done_s
        } else {
            1.0
        };
        Duration::try_from_secs_f64(self.expected_left_s.max(0.0) * scale).unwrap_or(Duration::MAX)
    }
}

/// A duration as a person would say it.
fn rough(duration: Duration) -> String {
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
        let mut progress = Progress::new([2.0, 2.0, 4.0].into_iter(), true);
        assert_eq!(progress.left(Duration::ZERO), Duration::from_secs(8));
        progress.done(2.0);
        // The first took three times as long as expected.
        assert_eq!(progress.left(Duration::from_secs(6)), Duration::from_secs(18));
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

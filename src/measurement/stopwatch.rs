//! The clock of the probes. Timed samples have their own, in `harness/clock.rs`.

use std::time::Instant;

/// Time since it was started, on the host's monotonic clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stopwatch(Instant);

impl Stopwatch {
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    pub(super) fn ns(self) -> f64 {
        self.0.elapsed().as_secs_f64() * 1e9
    }

    pub(super) fn seconds(self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

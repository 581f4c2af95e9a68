//! Wall time, for probes and budgets, and of the host beside a device's events. Timed samples have a
//! clock of their own, in `harness/clock.rs`.

use std::time::{Duration, Instant};

/// Time since it was started, on the host's monotonic clock.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts it.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since the start.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    /// Nanoseconds since the start.
    pub fn ns(self) -> f64 {
        self.0.elapsed().as_secs_f64() * 1e9
    }

    /// Seconds since the start.
    pub fn seconds(self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }

    /// Returns the seconds since the start and restarts it.
    pub fn lap(&mut self) -> f64 {
        let seconds = self.seconds();
        *self = Self::start();
        seconds
    }
}

//! The samples of a case as criterion asks for them.
//!
//! The order of one, once criterion has warmed up:
//! 1. take the sample;
//! 2. remember it: it may be the last, by which a report knows the estimate, and all of them say how
//!    fast the case is alone;
//! 3. read clock and temperature, unless criterion still warms up: it estimates a step from the wall time of all this.
//!    The warm-up is over after as much wall time here, too.

use std::time::Duration;

use plan::LastSample;

use crate::refusal::Refusal;

pub struct Samples<'a> {
    pub take: &'a mut dyn FnMut(u64) -> Result<Duration, Refusal>,
    pub read: &'a mut dyn FnMut(),
    /// The host's clock, in seconds.
    pub clock: &'a dyn Fn() -> f64,
    /// For how long criterion warms up, by the host's clock.
    pub warm_up: Duration,
}

/// The samples that were taken.
#[derive(Debug, Default)]
pub struct Taken {
    pub last: Option<LastSample>,
    /// Nanoseconds of a step in each, criterion's warm-up left out.
    pub steps_ns: Vec<f64>,
    /// Whether criterion has warmed up.
    pub is_warm: bool,
    /// When the first one began, by the host's clock.
    began_s: Option<f64>,
}

impl Samples<'_> {
    pub fn next(&mut self, iters: u64, taken: &mut Taken) -> Result<Duration, Refusal> {
        let now_s = (self.clock)();
        let began_s = *taken.began_s.get_or_insert(now_s);
        taken.is_warm = now_s - began_s > self.warm_up.as_secs_f64();
        // 1. Criterion saves nothing of a case of which one sample took no time at all.
        let time = (self.take)(iters)?.max(Duration::from_nanos(1));
        // 2.
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        taken.last = Some(LastSample { iters, ns });
        // 3.
        if taken.is_warm {
            taken.steps_ns.push(ns as f64 / iters as f64);
            (self.read)();
        }
        Ok(time)
    }
}

#[cfg(test)]
#[path = "samples_tests.rs"]
mod tests;

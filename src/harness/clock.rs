//! The one timing loop.
//!
//! The order of a sample:
//! 1. flush the cache, if the case is cold (outside the clock);
//! 2. read the clock;
//! 3. run the step, keeping its output;
//! 4. read the clock;
//! 5. drop the output (outside the clock).
//!
//! A hot case reads the clock once around all its iterations, so that short steps are not buried
//! under clock reads; its outputs are dropped inside the clock, as they are wherever a model runs.

use std::time::{Duration, Instant};

use super::flush::Flush;
use crate::workload::{Refusal, Workload};

/// A source of time on the device where the work is done.
pub trait Clock {
    /// A moment.
    type Moment;

    /// Marks now.
    ///
    /// # Errors
    /// The device's.
    fn now(&mut self) -> Result<Self::Moment, Refusal>;

    /// The time between two moments; waits for the device to reach the second.
    ///
    /// # Errors
    /// The device's.
    fn between(&mut self, start: Self::Moment, end: Self::Moment) -> Result<Duration, Refusal>;
}

/// The host's monotonic clock.
#[derive(Debug, Default)]
pub struct HostClock;

impl Clock for HostClock {
    type Moment = Instant;

    fn now(&mut self) -> Result<Instant, Refusal> {
        Ok(Instant::now())
    }

    fn between(&mut self, start: Instant, end: Instant) -> Result<Duration, Refusal> {
        Ok(end - start)
    }
}

/// Times `iters` steps.
///
/// # Errors
/// Those of a step, of the clock and of the flush.
pub fn time<C: Clock>(
    clock: &mut C,
    workload: &dyn Workload,
    flush: Option<&mut Flush>,
    iters: u64,
) -> Result<Duration, Refusal> {
    match flush {
        None => hot(clock, workload, iters),
        Some(flush) => cold(clock, workload, flush, iters),
    }
}

fn hot<C: Clock>(clock: &mut C, workload: &dyn Workload, iters: u64) -> Result<Duration, Refusal> {
    let start = clock.now()?;
    for _ in 0..iters {
        drop(std::hint::black_box(workload.step()?));
    }
    let end = clock.now()?;
    clock.between(start, end)
}

fn cold<C: Clock>(
    clock: &mut C,
    workload: &dyn Workload,
    flush: &mut Flush,
    iters: u64,
) -> Result<Duration, Refusal> {
    let mut total = Duration::ZERO;
    for _ in 0..iters {
        flush.run()?;
        let start = clock.now()?;
        let output = std::hint::black_box(workload.step()?);
        let end = clock.now()?;
        total += clock.between(start, end)?;
        drop(output);
    }
    Ok(total)
}

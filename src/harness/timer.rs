//! How a case's steps are timed: the clock of its device, and the flush of a cold case.

use std::time::Duration;

use plan::{CacheMode, Case, Clocks};

use super::clock::time;
use super::device_clock::CaseClock;
use super::flush::Flush;
use crate::device;
use crate::workload::{Refusal, Workload};

/// The clock of a device and what empties its cache. The cases of a group share one: they have
/// device and cache mode in common.
#[derive(Debug)]
pub struct Timer {
    clock: CaseClock,
    flush: Option<Flush>,
}

impl Timer {
    /// The timer of `case` and its siblings.
    ///
    /// # Errors
    /// When the device has no clock, or no room for the buffer that flushes its cache.
    pub fn of(case: &Case) -> Result<Self, Refusal> {
        let flush = match case.settings.cache {
            CacheMode::Hot => None,
            CacheMode::Cold => Some(Flush::new(device::resolve(case.device)?)?),
        };
        Ok(Self { clock: CaseClock::of(case.device)?, flush })
    }

    /// Times `iters` steps.
    ///
    /// # Errors
    /// Those of a step.
    pub fn time(&mut self, workload: &dyn Workload, iters: u64) -> Result<Duration, Refusal> {
        let step = || Ok(workload.step()?);
        let mut run = self.flush.as_mut().map(|flush| || flush.run());
        let flush = run.as_mut().map(|run| run as &mut super::clock::FlushFn<'_>);
        match &mut self.clock {
            CaseClock::Host(clock) => time(clock, step, flush, iters),
            CaseClock::Events(clock) => time(clock, step, flush, iters),
        }
    }

    /// A step by both clocks, on a device that works beside the host.
    pub fn clocks(&self) -> Option<Clocks> {
        None
    }

    /// Whether a step finds the cache as the step before it left it.
    pub fn is_hot(&self) -> bool {
        self.flush.is_none()
    }
}

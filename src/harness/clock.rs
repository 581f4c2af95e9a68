//! The one timing loop.
//!
//! The order of a hot sample:
//! 1. read the clock;
//! 2. run a step;
//! 3. drop its output; steps 2 and 3 as often as there are iterations;
//! 4. read the clock.
//!
//! The order of a cold sample, for each iteration:
//! 1. flush the cache (outside the clock);
//! 2. read the clock;
//! 3. run the step, keeping its output;
//! 4. read the clock;
//! 5. drop the output (outside the clock).
//!
//! A hot case reads the clock once around all its iterations, so that short steps are not buried
//! under clock reads; its outputs are dropped inside the clock, as they are wherever a model runs.

use std::time::{Duration, Instant};

pub use crate::measurement::stopwatch::Stopwatch;
use crate::refusal::Refusal;

/// A source of time on the device where the work is done.
pub trait Clock {
    /// A moment.
    type Moment;

    /// Marks now.
    fn now(&mut self) -> Result<Self::Moment, Refusal>;

    /// The time between two moments; waits for the device to reach the second.
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

/// The host's clock for an asynchronous device: reading it first waits for the device.
#[derive(Debug)]
pub struct WaitingClock<W>(pub W);

impl<W: FnMut() -> Result<(), Refusal>> Clock for WaitingClock<W> {
    type Moment = Instant;

    fn now(&mut self) -> Result<Instant, Refusal> {
        (self.0)()?;
        Ok(Instant::now())
    }

    fn between(&mut self, start: Instant, end: Instant) -> Result<Duration, Refusal> {
        Ok(end - start)
    }
}

/// The time of some steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// By the clock of the device that does the work.
    pub device: Duration,
    /// As their caller has it, on a device that works beside the host: the longer of the device's time and of the host's for
    /// queueing them. None where the host waits anyway.
    pub called: Option<Duration>,
}

impl Timing {
    /// The time of a device that the host waits for.
    pub const fn waited_for(device: Duration) -> Self {
        Self { device, called: None }
    }
}

/// Empties the cache that a step works in.
pub type FlushFn<'a> = dyn FnMut() -> Result<(), Refusal> + 'a;

/// Times `iters` steps, cold if there is something to flush the cache with.
pub fn time<C: Clock, T>(
    clock: &mut C,
    step: impl FnMut() -> Result<T, Refusal>,
    flush: Option<&mut FlushFn<'_>>,
    iters: u64,
) -> Result<Duration, Refusal> {
    match flush {
        None => hot(clock, step, iters),
        Some(flush) => cold(clock, step, flush, iters),
    }
}

fn hot<C: Clock, T>(
    clock: &mut C,
    mut step: impl FnMut() -> Result<T, Refusal>,
    iters: u64,
) -> Result<Duration, Refusal> {
    // 1.
    let start = clock.now()?;
    for _ in 0..iters {
        // 2 and 3.
        drop(std::hint::black_box(step()?));
    }
    // 4.
    let end = clock.now()?;
    clock.between(start, end)
}

fn cold<C: Clock, T>(
    clock: &mut C,
    mut step: impl FnMut() -> Result<T, Refusal>,
    flush: &mut FlushFn<'_>,
    iters: u64,
) -> Result<Duration, Refusal> {
    let mut total = Duration::ZERO;
    for _ in 0..iters {
        // 1.
        flush()?;
        // 2 to 4.
        let start = clock.now()?;
        let output = std::hint::black_box(step()?);
        let end = clock.now()?;
        total += clock.between(start, end)?;
        // 5.
        drop(output);
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    type Log = RefCell<Vec<&'static str>>;

    /// A clock that writes down when it is read, and ticks a microsecond at every reading.
    struct Recording<'a>(&'a Log, u64);

    impl Clock for Recording<'_> {
        type Moment = u64;

        fn now(&mut self) -> Result<u64, Refusal> {
            self.0.borrow_mut().push("clock");
            self.1 += 1;
            Ok(self.1)
        }

        fn between(&mut self, start: u64, end: u64) -> Result<Duration, Refusal> {
            Ok(Duration::from_micros(end - start))
        }
    }

    #[test]
    fn a_clock_beside_the_device_waits_before_each_reading() {
        let log = Log::default();
        let mut clock = WaitingClock(|| {
            log.borrow_mut().push("wait");
            Ok(())
        });
        let step = || {
            log.borrow_mut().push("step");
            Ok(())
        };
        time(&mut clock, step, None, 2).expect("nothing fails");
        assert_eq!(*log.borrow(), ["wait", "step", "step", "wait"]);
        let mut broken = WaitingClock(|| Err(Refusal::Failed("lost".to_owned())));
        assert!(time(&mut broken, || Ok(()), None, 1).is_err());
    }

    /// An output that writes down when it is dropped.
    struct Output<'a>(&'a Log);

    impl Drop for Output<'_> {
        fn drop(&mut self) {
            self.0.borrow_mut().push("drop");
        }
    }

    fn order(cold: bool, iters: u64) -> (Vec<&'static str>, Duration) {
        let log = Log::default();
        let mut flush = || {
            log.borrow_mut().push("flush");
            Ok(())
        };
        let step = || {
            log.borrow_mut().push("step");
            Ok(Output(&log))
        };
        let flush: Option<&mut FlushFn<'_>> = if cold { Some(&mut flush) } else { None };
        let taken = time(&mut Recording(&log, 0), step, flush, iters).expect("nothing fails");
        (log.take(), taken)
    }

    #[test]
    fn a_hot_sample_reads_the_clock_once_around_all_steps() {
        let (order, taken) = order(false, 2);
        assert_eq!(order, ["clock", "step", "drop", "step", "drop", "clock"]);
        assert_eq!(taken, Duration::from_micros(1));
    }

    #[test]
    fn a_cold_sample_flushes_and_drops_outside_the_clock() {
        let (order, taken) = order(true, 2);
        let once = ["flush", "clock", "step", "clock", "drop"];
        assert_eq!(order, [once, once].concat());
        assert_eq!(taken, Duration::from_micros(2));
    }

    #[test]
    fn a_step_that_fails_ends_the_sample() {
        let mut steps = 0;
        let step = || {
            steps += 1;
            if steps < 3 { Ok(()) } else { Err(Refusal::Failed("on purpose".to_owned())) }
        };
        let failed = time(&mut HostClock, step, None, 10);
        assert_eq!(failed, Err(Refusal::Failed("on purpose".to_owned())));
        assert_eq!(steps, 3);
    }
}

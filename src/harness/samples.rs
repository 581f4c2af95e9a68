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
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    #[test]
    fn the_order_of_a_sample() {
        let log = RefCell::<Vec<String>>::default();
        let say = |what: &str| log.borrow_mut().push(what.to_owned());
        let wall_s = Cell::new(0.0);
        let mut samples = Samples {
            // By its own clock the device is ten times as fast as by the host's: the warm-up has passed
            // after 6 ms of the host's, which are 0.6 of the device's.
            take: &mut |iters| {
                say(&format!("take {iters}"));
                wall_s.set(wall_s.get() + iters as f64 / 1e3);
                Ok(Duration::from_micros(100 * iters))
            },
            read: &mut || say("read"),
            clock: &|| wall_s.get(),
            warm_up: Duration::from_millis(5),
        };
        let mut taken = Taken::default();
        for iters in [2, 4, 3] {
            let time = samples.next(iters, &mut taken).expect("nothing fails");
            assert_eq!(time, Duration::from_micros(100 * iters));
        }
        assert_eq!(log.take(), ["take 2", "take 4", "take 3", "read"]);
        assert_eq!(taken.last, Some(LastSample { iters: 3, ns: 300_000 }));
    }

    #[test]
    fn a_sample_that_takes_no_time_takes_the_shortest() {
        let mut samples = Samples {
            take: &mut |_| Ok(Duration::ZERO),
            read: &mut || (),
            clock: &|| 0.0,
            warm_up: Duration::ZERO,
        };
        let mut taken = Taken::default();
        assert_eq!(samples.next(7, &mut taken), Ok(Duration::from_nanos(1)));
        assert_eq!(taken.last, Some(LastSample { iters: 7, ns: 1 }));
    }
}

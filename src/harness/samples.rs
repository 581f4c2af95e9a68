//! The samples of a case as criterion asks for them.
//!
//! The order of one, once criterion has warmed up:
//! 1. note how far the device has been throttled;
//! 2. take the sample;
//! 3. was the device throttled meanwhile? Throw the sample away, rest, and go back to 1;
//! 4. remember it: it may be the last, by which a report knows the estimate, and all of them say how
//!    fast the case is alone;
//! 5. read clock and temperature.
//!
//! While criterion warms up, only 2 and 4 happen: it estimates a step from the wall time of all this.
//! So the warm-up is over after as much wall time here, too: a device's own time adds up more slowly,
//! and the first samples that count would go unwatched.

use std::time::Duration;

use plan::LastSample;

use super::throttle::{POWER_CAP, Throttling};
use crate::measurement::gpu::ThrottleProbe;
use crate::refusal::Refusal;

pub struct Samples<'a> {
    pub take: &'a mut dyn FnMut(u64) -> Result<Duration, Refusal>,
    /// Knows of throttling, where the device can tell.
    pub probe: Option<&'a mut dyn ThrottleProbe>,
    /// Lets the device cool.
    pub rest: &'a mut dyn FnMut(Duration),
    pub read: &'a mut dyn FnMut(),
    /// The host's clock, in seconds.
    pub clock: &'a dyn Fn() -> f64,
    /// For how long criterion warms up, by the host's clock.
    pub warm_up: Duration,
}

/// How many samples were taken, thrown away and late.
#[derive(Debug, Default)]
pub struct Taken {
    pub last: Option<LastSample>,
    /// Nanoseconds of a step in each, criterion's warm-up left out.
    pub steps_ns: Vec<f64>,
    pub throttling: Throttling,
    /// When the first one began, by the host's clock.
    began_s: Option<f64>,
}

impl Samples<'_> {
    pub fn next(&mut self, iters: u64, taken: &mut Taken) -> Result<Duration, Refusal> {
        let now_s = (self.clock)();
        let began_s = *taken.began_s.get_or_insert(now_s);
        let is_warm = now_s - began_s > self.warm_up.as_secs_f64();
        let mut sample = || (self.take)(iters);
        let time = match &mut self.probe {
            // 1 to 3.
            Some(probe) if is_warm => {
                taken.throttling.sample(Some(&mut **probe), &POWER_CAP, self.rest, &mut sample)?
            }
            // 2 alone.
            _ => sample()?,
        };
        // Criterion saves nothing of a case of which one sample took no time at all.
        let time = time.max(Duration::from_nanos(1));
        // 4.
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        taken.last = Some(LastSample { iters, ns });
        // 5.
        if is_warm {
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
    use crate::measurement::gpu::SlowDown;

    type Log = RefCell<Vec<String>>;

    /// A device that was throttled during its first watched sample.
    struct Probe<'a>(&'a Log, u64);

    impl ThrottleProbe for Probe<'_> {
        fn watch(&mut self) {
            self.0.borrow_mut().push("note".to_owned());
        }

        fn slowed_since(&mut self) -> Result<Option<SlowDown>, String> {
            self.0.borrow_mut().push("throttled?".to_owned());
            self.1 += 1;
            Ok((self.1 == 1).then_some(SlowDown::Other))
        }
    }

    #[test]
    fn the_order_of_a_sample() {
        let log = Log::default();
        let say = |what: &str| log.borrow_mut().push(what.to_owned());
        let mut probe = Probe(&log, 0);
        let wall_s = Cell::new(0.0);
        let mut samples = Samples {
            // By its own clock the device is ten times as fast as by the host's: the warm-up has passed
            // after 6 ms of the host's, which are 0.6 of the device's.
            take: &mut |iters| {
                say(&format!("take {iters}"));
                wall_s.set(wall_s.get() + iters as f64 / 1e3);
                Ok(Duration::from_micros(100 * iters))
            },
            probe: Some(&mut probe),
            rest: &mut |_| say("rest"),
            read: &mut || say("read"),
            clock: &|| wall_s.get(),
            warm_up: Duration::from_millis(5),
        };
        let mut taken = Taken::default();
        for iters in [2, 4, 3] {
            let time = samples.next(iters, &mut taken).expect("nothing fails");
            assert_eq!(time, Duration::from_micros(100 * iters));
        }
        let warming = ["take 2", "take 4"];
        let thrown_away = ["note", "take 3", "throttled?", "rest"];
        let counts = ["note", "take 3", "throttled?", "read"];
        assert_eq!(log.take(), [&warming[..], &thrown_away, &counts].concat());
        assert_eq!(taken.last, Some(LastSample { iters: 3, ns: 300_000 }));
        assert_eq!(taken.throttling.discarded, 1);
    }

    #[test]
    fn a_sample_that_takes_no_time_takes_the_shortest() {
        let mut samples = Samples {
            take: &mut |_| Ok(Duration::ZERO),
            probe: None,
            rest: &mut |_| panic!("nothing is throttled"),
            read: &mut || (),
            clock: &|| 0.0,
            warm_up: Duration::ZERO,
        };
        let mut taken = Taken::default();
        assert_eq!(samples.next(7, &mut taken), Ok(Duration::from_nanos(1)));
        assert_eq!(taken.last, Some(LastSample { iters: 7, ns: 1 }));
    }
}

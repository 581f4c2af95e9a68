//! How the samples of one case are taken on a device that works beside the host, from the first
//! warm one to the last, and what has been seen of both clocks.

use plan::{Clocks, Regime};

use super::clock::Timing;
use super::device_clock::BothClocks;
use super::launch::{Device, Hiding, Launches, Order, queueing, sample};
use super::throttle::Throttling;
use crate::refusal::Refusal;

/// Open samples from which the host's side is told. Their medians need not be fine: they decide
/// whether the device waits, and no speed-up rests on them.
const OPEN_SAMPLES: u64 = 11;
/// Device time of one of them.
const OPEN_SAMPLE_NS: f64 = 5e6;

/// Late samples in a row that are taken again. What comes late once more comes late by itself.
const LATE_IN_A_ROW: u64 = 4;

#[derive(Debug, Clone, PartialEq)]
pub struct Pace {
    open: Order,
    /// The way in which launches are hidden, or why they stay open.
    hiding: Result<Hiding, String>,
    /// Why the device sleeps instead of waiting for the host.
    sleeps: Option<String>,
    late_in_a_row: u64,
    clocks: BothClocks,
    pub throttling: Throttling,
    /// The multiprocessors' clock in each sample that counts, in MHz.
    clock_mhz: Vec<f64>,
}

impl Pace {
    /// Finds how fast the host queues a step. The case has to be warm. `peak_khz` is the device's
    /// highest clock; where the device cannot be held, launches stay open when it is 0, and [`Self::notes`] says so.
    pub fn find(
        device: &mut impl Device,
        cold: bool,
        peak_khz: u64,
        regime: Regime,
    ) -> Result<Self, Refusal> {
        let queue = queueing(device)?;
        let hiding = Hiding::for_device(device, queue, peak_khz);
        let sleeps = hiding.is_ok().then(|| device.can_hold().err()).flatten();
        Ok(Self {
            open: Order::open(cold, queue),
            hiding,
            sleeps,
            late_in_a_row: 0,
            clocks: BothClocks::default(),
            throttling: Throttling::new(regime),
            clock_mhz: Vec::new(),
        })
    }

    /// The time of `steps` steps, their launches hidden from the device's. What was late, or slow because the clock was held
    /// down, is taken again, so that no such sample counts, nor a block of a pair that holds one.
    pub fn time(&mut self, device: &mut impl Device, steps: u64) -> Result<Timing, Refusal> {
        loop {
            let order = match self.hiding {
                Ok(hiding) => self.open.hidden(hiding),
                Err(_) => self.open,
            };
            let taken = sample(device, &order, steps)?;
            if taken.launches == Launches::Late {
                self.clocks.add(&taken);
                self.was_late();
                continue;
            }
            self.late_in_a_row = 0;
            if let Some(rest) = taken.clock_mhz.and_then(|mhz| self.throttling.rest(mhz)) {
                device.rest(rest);
                continue;
            }
            self.clocks.add(&taken);
            self.clock_mhz.extend(taken.clock_mhz);
            let called = Some(taken.device.max(taken.queue));
            return Ok(Timing { device: taken.device, called });
        }
    }

    fn was_late(&mut self) {
        self.late_in_a_row += 1;
        if self.late_in_a_row > LATE_IN_A_ROW {
            self.hiding = Err(format!(
                "launches are not hidden: {} samples in a row came late; the step itself waits for the device, or has more \
                 launches than the device's queue holds",
                self.late_in_a_row
            ));
        } else if let Ok(Hiding::Sleep(sleeps)) = self.hiding {
            self.hiding = Ok(Hiding::Sleep(sleeps.longer()));
        }
    }

    /// The multiprocessors' clock in the samples that count since this was asked last, in MHz; none where the device does
    /// not tell.
    pub fn take_clock_mhz(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.clock_mhz)
    }

    /// Both clocks of a step: takes the open samples that the host's side is told from. A pass of
    /// its own, after the samples that count.
    pub fn clocks(&mut self, device: &mut impl Device) -> Result<Clocks, Refusal> {
        let affordable = self.clocks.device_ns().map_or(1.0, |step_ns| OPEN_SAMPLE_NS / step_ns);
        let steps = (affordable as u64).clamp(1, self.open.steps_at_most());
        for _ in 0..OPEN_SAMPLES {
            let taken = sample(device, &self.open, steps)?;
            self.clocks.add(&taken);
        }
        self.clocks.clocks().map_err(Refusal::Failed)
    }

    pub fn notes(&self) -> Vec<String> {
        let sleeps = self.sleeps.as_ref().map(|reason| {
            format!("launches are hidden by sleeps of a guessed length: the device cannot be held: {reason}")
        });
        self.hiding.clone().err().into_iter().chain(sleeps).chain(self.clocks.note()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::harness::launch::tests::{Handle, Machine, PEAK_KHZ};

    fn found(machine: &Machine, cold: bool, peak_khz: u64) -> (Duration, Clocks, Vec<String>) {
        let mut device = Handle(machine);
        let mut pace = Pace::find(&mut device, cold, peak_khz, Regime::Burst).expect("it runs");
        let taken = pace.time(&mut device, 100).expect("it runs").device;
        let clocks = pace.clocks(&mut device).expect("it runs");
        (taken, clocks, pace.notes())
    }

    #[test]
    fn a_slow_host_is_hidden_from_the_time_and_shown_by_the_clocks() {
        // The host needs 10 µs for a step, the device 3.
        let machine = Machine::new(1, 10_000, 3000).gated(true);
        let (taken, clocks, notes) = found(&machine, false, 0);
        assert_eq!(taken, Duration::from_micros(300));
        assert_eq!((clocks.device_ns, clocks.queue_ns), (3000.0, 10_000.0));
        assert!(clocks.host_bound && clocks.host_ns >= 10_000.0, "{clocks:?}");
        assert_eq!(notes, Vec::<String>::new());
    }

    #[test]
    fn a_slow_device_is_not_bound_by_the_host_hot_or_cold() {
        let machine = Machine::new(1, 10_000, 100_000).gated(true);
        for cold in [false, true] {
            let (taken, clocks, notes) = found(&machine, cold, PEAK_KHZ);
            assert_eq!(taken, Duration::from_millis(10));
            assert_eq!((clocks.device_ns, clocks.host_bound), (100_000.0, false));
            assert!(clocks.host_ns > 100_000.0 && clocks.host_ns < 112_000.0, "{clocks:?}");
            assert_eq!(notes, Vec::<String>::new());
        }
    }

    #[test]
    fn a_very_slow_device_is_not_kept_busy_for_the_clocks_alone() {
        let machine = Machine::new(1, 10_000, 1_000_000_000);
        let (_, clocks, _) = found(&machine, false, PEAK_KHZ);
        assert!(!clocks.host_bound);
        // The pilot's steps, the sample's, one for each open sample.
        assert_eq!(machine.steps(), 9 + 100 + OPEN_SAMPLES);
    }

    #[test]
    fn without_a_known_clock_launches_stay_open_and_it_is_said() {
        let machine = Machine::new(1, 10_000, 3000);
        let (taken, clocks, notes) = found(&machine, false, 0);
        assert!(taken > Duration::from_micros(900), "{taken:?}");
        assert!(clocks.host_bound, "{clocks:?}");
        assert!(notes[0].starts_with("launches are not hidden: "), "{notes:?}");
    }

    #[test]
    fn a_host_that_is_late_for_once_is_waited_for_by_a_gate_and_sampled_again_behind_a_sleep() {
        for gated in [true, false] {
            let machine = Machine::new(1, 10_000, 3000).gated(gated);
            let mut device = Handle(&machine);
            let mut pace =
                Pace::find(&mut device, false, PEAK_KHZ, Regime::Burst).expect("it runs");
            machine.stall(50_000_000);
            let taken = pace.time(&mut device, 100).expect("it runs");
            assert_eq!(taken.device, Duration::from_micros(300), "{gated}");
            // The host, which needs 10 µs for a step, was late by 50 ms for once.
            let called = if gated { 51 } else { 1 };
            assert_eq!(taken.called, Some(Duration::from_millis(called)), "{gated}");
            let late = pace.notes().iter().any(|note| note.contains("1 of 2 samples"));
            assert_eq!(late, !gated, "{:?}", pace.notes());
        }
    }

    #[test]
    fn a_sample_at_a_clock_that_a_rest_raises_does_not_count() {
        for (regime, taken_again) in [(Regime::Burst, 2), (Regime::Sustained, 0)] {
            let machine = Machine::new(1, 10_000, 3000).gated(true);
            let mut device = Handle(&machine);
            let mut pace = Pace::find(&mut device, false, PEAK_KHZ, regime).expect("it runs");
            let mut sampled = || {
                let taken = pace.time(&mut device, 100).expect("it runs").device;
                (taken, pace.take_clock_mhz(), pace.throttling.discarded)
            };
            let fast = Duration::from_micros(300);
            assert_eq!(sampled(), (fast, vec![2000.0], 0));
            // Until the device has rested for 50 and 100 ms.
            machine.slow_down(1.6, 150_000_000);
            let slow = Duration::from_micros(375);
            let expected = match regime {
                Regime::Burst => (fast, vec![2000.0], taken_again),
                Regime::Sustained => (slow, vec![1600.0], taken_again),
            };
            assert_eq!(sampled(), expected);
            assert_eq!(pace.clocks.note(), None, "none was late");
        }
    }

    #[test]
    fn a_step_that_waits_for_the_device_is_soon_timed_without_hiding_and_it_is_said() {
        let machine = Machine::new(1, 10_000, 3000).gated(true).syncing();
        let mut device = Handle(&machine);
        let mut pace = Pace::find(&mut device, false, PEAK_KHZ, Regime::Burst).expect("it runs");
        let taken = pace.time(&mut device, 10).expect("it runs").device;
        assert!(taken < Duration::from_millis(1), "{taken:?}");
        let notes = pace.notes();
        assert!(notes[0].starts_with("launches are not hidden: 5 samples in a row"), "{notes:?}");
        let steps = machine.steps();
        pace.time(&mut device, 10).expect("it runs");
        assert_eq!(machine.steps(), steps + 10, "once and for all");
    }
}

//! How the samples of one case are taken on a device that works beside the host, from the first
//! warm one to the last, and what has been seen of both clocks.

use std::time::Duration;

use plan::Clocks;

use super::device_clock::BothClocks;
use super::launch::{Device, LaunchHiding, Order, queueing, sample};
use crate::refusal::Refusal;

/// Open samples from which the host's side is told. Their medians need not be fine: they decide
/// whether the device waits, and no speed-up rests on them.
const OPEN_SAMPLES: u64 = 11;
/// Device time of one of them.
const OPEN_SAMPLE_NS: f64 = 5e6;

#[derive(Debug, Clone, PartialEq)]
pub struct Pace {
    open: Order,
    hiding: Result<LaunchHiding, String>,
    clocks: BothClocks,
}

impl Pace {
    /// Finds how fast the host queues a step. The case has to be warm. `peak_khz` is the device's
    /// highest clock; launches stay open when it is 0, and [`Self::notes`] says so.
    pub fn find(device: &mut impl Device, cold: bool, peak_khz: u64) -> Result<Self, Refusal> {
        let queue = queueing(device)?;
        Ok(Self {
            open: Order::open(cold, queue),
            hiding: LaunchHiding::new(queue, peak_khz),
            clocks: BothClocks::default(),
        })
    }

    /// Device time of `steps` steps, their launches hidden.
    pub fn time(&mut self, device: &mut impl Device, steps: u64) -> Result<Duration, Refusal> {
        let order = match self.hiding {
            Ok(hiding) => self.open.hidden(hiding),
            Err(_) => self.open,
        };
        let taken = sample(device, &order, steps)?;
        self.clocks.add(&taken);
        Ok(taken.device)
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
        self.hiding.clone().err().into_iter().chain(self.clocks.note()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::launch::tests::{Handle, Machine, PEAK_KHZ};

    fn found(machine: &Machine, cold: bool, peak_khz: u64) -> (Duration, Clocks, Vec<String>) {
        let mut device = Handle(machine);
        let mut pace = Pace::find(&mut device, cold, peak_khz).expect("it runs");
        let taken = pace.time(&mut device, 100).expect("it runs");
        let clocks = pace.clocks(&mut device).expect("it runs");
        (taken, clocks, pace.notes())
    }

    #[test]
    fn a_slow_host_is_hidden_from_the_time_and_shown_by_the_clocks() {
        // The host needs 10 µs for a step, the device 3.
        let machine = Machine::new(1, 10_000, 3000);
        let (taken, clocks, notes) = found(&machine, false, PEAK_KHZ);
        assert_eq!(taken, Duration::from_micros(300));
        assert_eq!((clocks.device_ns, clocks.queue_ns), (3000.0, 10_000.0));
        assert!(clocks.host_bound && clocks.host_ns >= 10_000.0, "{clocks:?}");
        assert_eq!(notes, Vec::<String>::new());
    }

    #[test]
    fn a_slow_device_is_not_bound_by_the_host_hot_or_cold() {
        let machine = Machine::new(1, 10_000, 100_000);
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
}

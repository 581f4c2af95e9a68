//! A case's time by the device's own clock, events on torch's current stream, and by the host's.

use std::time::Duration;

use plan::Clocks;
use statistics::median;

use super::launch::{DeviceSample, Launches};

/// A case is host-bound from this share of queueing time in device time on. At 1 the device waits
/// for every step. Where launches are not hidden, the events hold the device's waiting, their time
/// approaches that of queueing from above and the share approaches 1 from below, short of it by the
/// last step's work. A device that has a tenth of its work in reserve never waits.
pub const HOST_BOUND: f64 = 0.9;

/// Whether a device that works `device_ns` on a step waits for a host that queues it in `queue_ns`.
pub fn is_host_bound(queue_ns: f64, device_ns: f64) -> bool {
    queue_ns >= HOST_BOUND * device_ns
}

/// Collects samples of one case, until both clocks of a step can be told.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BothClocks {
    hidden_ns: Vec<f64>,
    seen_ns: Vec<f64>,
    host_ns: Vec<f64>,
    queue_ns: Vec<f64>,
    late: u64,
}

impl BothClocks {
    pub fn add(&mut self, sample: &DeviceSample) {
        let per_step = |time: Duration| time.as_nanos() as f64 / sample.steps as f64;
        if sample.steps == 0 {
            return;
        }
        match sample.launches {
            Launches::Hidden => self.hidden_ns.push(per_step(sample.device)),
            // Thrown away: its time holds the host's.
            Launches::Late => {
                self.late += 1;
                return;
            }
            Launches::Open => {
                self.seen_ns.push(per_step(sample.device));
                self.host_ns.push(per_step(sample.host));
            }
        }
        self.queue_ns.push(per_step(sample.queue));
    }

    /// Median device time of a step: from samples with hidden launches where there are any. `None`
    /// before the first sample.
    pub fn device_ns(&self) -> Option<f64> {
        let seen = if self.hidden_ns.is_empty() { &self.seen_ns } else { &self.hidden_ns };
        (!seen.is_empty()).then(|| median(seen))
    }

    /// Medians per step: [`Self::device_ns`], and the host's, whose clock a sleep would disturb,
    /// from open samples.
    pub fn clocks(&self) -> Result<Clocks, String> {
        let device_ns = self.device_ns().filter(|_| !self.host_ns.is_empty());
        let device_ns = device_ns.ok_or("no sample was taken with open launches")?;
        let queue_ns = median(&self.queue_ns);
        Ok(Clocks {
            device_ns,
            host_ns: median(&self.host_ns),
            queue_ns,
            host_bound: is_host_bound(queue_ns, device_ns),
        })
    }

    /// A note on samples whose launches should have been hidden and may not have been.
    pub fn note(&self) -> Option<String> {
        let Self { late, hidden_ns, seen_ns, .. } = self;
        let asked = *late as usize + hidden_ns.len() + seen_ns.len();
        (*late > 0).then(|| {
            format!(
                "{late} of {asked} samples were taken again, because launches came late in them"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(launches: Launches, device: u64, host: u64, queue: u64) -> DeviceSample {
        let us = Duration::from_micros;
        let (device, host, queue) = (us(device), us(host), us(queue));
        DeviceSample { steps: 10, device, host, queue, launches, clock_mhz: None }
    }

    #[test]
    fn each_clock_is_taken_from_the_samples_that_show_it() {
        let mut clocks = BothClocks::default();
        // A step of 2 µs that takes 5 µs to queue: open, the device waits.
        clocks.add(&sample(Launches::Hidden, 20, 900, 50));
        clocks.add(&sample(Launches::Hidden, 22, 900, 50));
        clocks.add(&sample(Launches::Hidden, 21, 900, 54));
        assert_eq!(clocks.clocks(), Err("no sample was taken with open launches".to_owned()));
        clocks.add(&sample(Launches::Open, 52, 60, 49));
        let found = clocks.clocks().expect("both kinds");
        let expected =
            Clocks { device_ns: 2100.0, host_ns: 6000.0, queue_ns: 5000.0, host_bound: true };
        assert_eq!(found, expected);
        assert_eq!(clocks.note(), None);
    }

    #[test]
    fn a_late_sample_is_counted_and_not_believed() {
        let mut clocks = BothClocks::default();
        clocks.add(&sample(Launches::Open, 1000, 1010, 50));
        clocks.add(&sample(Launches::Late, 9000, 30_000, 20_000));
        let found = clocks.clocks().expect("an open sample");
        let expected = Clocks {
            device_ns: 100_000.0,
            host_ns: 101_000.0,
            queue_ns: 5000.0,
            host_bound: false,
        };
        assert_eq!(found, expected);
        assert!(clocks.note().is_some_and(|note| note.starts_with("1 of 2 samples")));
        // Hidden ones win over it.
        clocks.add(&sample(Launches::Hidden, 990, 1500, 50));
        assert_eq!(clocks.clocks().map(|clocks| clocks.device_ns), Ok(99_000.0));
        assert!(clocks.note().is_some_and(|note| note.starts_with("1 of 3 samples")));
    }

    #[test]
    fn a_tenth_of_reserve_is_enough() {
        assert!(is_host_bound(90.0, 100.0));
        assert!(!is_host_bound(89.0, 100.0));
        assert!(is_host_bound(500.0, 100.0));
        let mut empty = BothClocks::default();
        empty.add(&DeviceSample { steps: 0, ..sample(Launches::Open, 0, 0, 0) });
        assert_eq!(empty, BothClocks::default());
    }
}

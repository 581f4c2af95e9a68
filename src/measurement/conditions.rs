//! The state of the processor that does the work, read between criterion's samples.
//!
//! [`ConditionsProbe`] decides when to read and sums up; [`Readings`] is what knows the processor:
//! the host's here, a GPU's driver elsewhere.

use plan::{Conditions, Range};

use super::cpu_time::CpuTime;
use super::stopwatch::Stopwatch;
use statistics::quantile;

/// One look at a processor.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Reading {
    /// Clock in MHz.
    pub clock_mhz: Option<f64>,
    /// Temperature in °C.
    pub temperature_c: Option<f64>,
}

/// The readings of a processor; `None` stands for a missing one.
pub trait Readings {
    /// How the clock is read, or `none: ` and why it is not.
    fn clock_method(&self) -> String;

    /// The state now. Called between samples.
    fn read(&mut self) -> Reading;

    /// How throttling of the processor is detected, or `none: ` and the reason why it cannot be.
    fn throttle_method(&self) -> String;

    /// Why the processor slowed itself down since this began, in the driver's words, each reason
    /// once. Called once, at the end.
    fn throttle_reasons(&mut self) -> Vec<String>;
}

/// No processor that could be looked at, and why.
#[derive(Debug)]
pub struct Unread(pub String);

impl Readings for Unread {
    fn clock_method(&self) -> String {
        format!("none: {}", self.0)
    }

    fn read(&mut self) -> Reading {
        Reading::default()
    }

    fn throttle_method(&self) -> String {
        self.clock_method()
    }

    fn throttle_reasons(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// At least so many times as long as a reading takes pass until the next: reading costs a run at
/// most 1 %.
const REST: f64 = 100.0;
/// Readings closer together than this, in seconds, say nothing new.
const SHORTEST_REST_S: f64 = 0.01;

/// Reads a processor's state while criterion samples.
pub struct ConditionsProbe {
    readings: Box<dyn Readings>,
    watch: Stopwatch,
    cpu_time: Option<CpuTime>,
    clock_mhz: Vec<f64>,
    temperature_c: Vec<f64>,
    next_s: f64,
}

impl ConditionsProbe {
    /// A probe of what `readings` read.
    pub fn start(readings: Box<dyn Readings>) -> Self {
        Self {
            readings,
            watch: Stopwatch::start(),
            cpu_time: CpuTime::read(),
            clock_mhz: Vec::new(),
            temperature_c: Vec::new(),
            next_s: 0.0,
        }
    }

    /// Reads, unless the last reading is too recent; then it costs a look at the clock. To be called
    /// between samples, never inside a timed region.
    pub fn read(&mut self) {
        let start_s = self.watch.seconds();
        if start_s < self.next_s {
            return;
        }
        let Reading { clock_mhz, temperature_c } = self.readings.read();
        let end_s = self.watch.seconds();
        self.next_s = end_s + (REST * (end_s - start_s)).max(SHORTEST_REST_S);
        self.clock_mhz.extend(clock_mhz);
        self.temperature_c.extend(temperature_c);
    }

    /// Sums up. `discarded` is the number of samples that the caller took again because the clock was held down; 0 on the
    /// host, of which nothing is thrown away. `counted_mhz` are clocks during samples, which say
    /// more than what was read between them.
    pub fn finish(mut self, discarded: u64, counted_mhz: Vec<f64>) -> Conditions {
        let steal = self.cpu_time.zip(CpuTime::read());
        let counted = range(counted_mhz);
        let clock_method = match counted {
            Some(_) => {
                "a multiprocessor's cycles over the device's timer, in each sample".to_owned()
            }
            None => self.readings.clock_method(),
        };
        Conditions {
            clock_mhz: counted.or(range(self.clock_mhz)),
            clock_method,
            temperature_c: range(self.temperature_c),
            regime: None,
            throttle_reasons: self.readings.throttle_reasons(),
            throttle_method: Some(self.readings.throttle_method()),
            discarded_samples: discarded,
            steal: steal.and_then(|(before, now)| now.steal_since(before)),
        }
    }
}

/// Lowest, median and highest; `None` of nothing.
pub fn range(mut values: Vec<f64>) -> Option<Range> {
    values.sort_by(f64::total_cmp);
    let (min, max) = (*values.first()?, *values.last()?);
    Some(Range { min, median: quantile(&values, 0.5), max })
}

#[cfg(test)]
mod tests {
    use plan::Device;

    use super::*;
    use crate::measurement::instruments;

    struct Fake(Vec<Reading>);

    impl Readings for Fake {
        fn clock_method(&self) -> String {
            "fake".to_owned()
        }

        fn read(&mut self) -> Reading {
            self.0.pop().unwrap_or_default()
        }

        fn throttle_method(&self) -> String {
            "fake, too".to_owned()
        }

        fn throttle_reasons(&mut self) -> Vec<String> {
            vec!["SW power cap".to_owned()]
        }
    }

    fn reading(clock_mhz: f64, temperature_c: Option<f64>) -> Reading {
        Reading { clock_mhz: Some(clock_mhz), temperature_c }
    }

    fn probe(readings: &[Reading]) -> ConditionsProbe {
        ConditionsProbe::start(Box::new(Fake(readings.to_vec())))
    }

    #[test]
    fn readings_are_summed_up() {
        let readings =
            [reading(1500.0, Some(60.0)), reading(900.0, None), reading(1700.0, Some(64.0))];
        let mut probe = probe(&readings);
        for _ in &readings {
            probe.next_s = 0.0;
            probe.read();
        }
        let conditions = probe.finish(1, Vec::new());
        let clock = Range { min: 900.0, median: 1500.0, max: 1700.0 };
        assert_eq!(conditions.clock_mhz, Some(clock));
        let temperature = Range { min: 60.0, median: 62.0, max: 64.0 };
        assert_eq!(conditions.temperature_c, Some(temperature));
        assert_eq!(conditions.clock_method, "fake");
        assert_eq!(conditions.throttle_reasons, ["SW power cap"]);
        assert_eq!(conditions.throttle_method.as_deref(), Some("fake, too"));
        assert_eq!(conditions.discarded_samples, 1);
    }

    #[test]
    fn clocks_during_samples_say_more_than_those_between() {
        let mut probe = probe(&[reading(1980.0, None)]);
        probe.read();
        let conditions = probe.finish(0, vec![1700.0, 1650.0, 1710.0]);
        assert_eq!(conditions.clock_mhz, Some(Range { min: 1650.0, median: 1700.0, max: 1710.0 }));
        assert!(conditions.clock_method.contains("in each sample"), "{}", conditions.clock_method);
    }

    #[test]
    fn a_recent_reading_is_enough() {
        let mut probe = probe(&[reading(2.0, None), reading(1.0, None)]);
        probe.read();
        assert_eq!(probe.clock_mhz, [1.0]);
        assert!(probe.next_s >= SHORTEST_REST_S);
        // However slow this machine is, the next may not come before this.
        probe.next_s = f64::INFINITY;
        probe.read();
        assert_eq!(probe.clock_mhz, [1.0]);
        probe.next_s = 0.0;
        probe.read();
        assert_eq!(probe.clock_mhz, [1.0, 2.0]);
    }

    #[test]
    fn the_host_is_read() {
        let mut probe = ConditionsProbe::start(instruments::readings(Device::Cpu));
        probe.read();
        let conditions = probe.finish(0, Vec::new());
        println!("{conditions:?}");
        let readable = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
        assert_eq!(conditions.clock_mhz.is_some(), readable);
        assert_eq!(conditions.clock_method.starts_with("none: "), !readable);
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let conditions =
            ConditionsProbe::start(instruments::readings(Device::Mps)).finish(0, Vec::new());
        assert_eq!(conditions.clock_mhz, None);
        assert_eq!(conditions.clock_method, "none: no clock of mps is read by this version");
    }
}

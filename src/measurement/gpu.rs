//! The state of a GPU: energy, clocks, temperature, and why it slowed itself down.

use nvml_wrapper::bitmasks::device::ThrottleReasons;

use super::conditions::{Reading, Readings};
use super::energy::EnergyCounter;

/// A clock of a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// The multiprocessors'.
    Sm,
    /// The memory's.
    Memory,
}

/// What is asked of a GPU's driver. An error says what could not be read, and why.
pub trait Gpu {
    /// Millijoules that the board has taken since the driver was loaded.
    ///
    /// # Errors
    /// When the driver does not count them (before Volta), or not for this user.
    fn energy_mj(&self) -> Result<u64, String>;
    /// Frequency now, in MHz.
    ///
    /// # Errors
    /// The driver's.
    fn clock_mhz(&self, domain: Domain) -> Result<u32, String>;
    /// Highest frequency, in MHz.
    ///
    /// # Errors
    /// The driver's.
    fn max_clock_mhz(&self, domain: Domain) -> Result<u32, String>;
    /// Temperature of the die, in °C.
    ///
    /// # Errors
    /// The driver's.
    fn temperature_c(&self) -> Result<u32, String>;
    /// What holds the clocks down now, settings and idleness included.
    ///
    /// # Errors
    /// The driver's.
    fn limits(&self) -> Result<ThrottleReasons, String>;
    /// Nanoseconds for which power or heat have held the clocks down since the driver was loaded.
    ///
    /// # Errors
    /// When the driver does not count them.
    fn slowed_ns(&self) -> Result<u64, String>;
}

/// Limits that are a slow-down, in the words of `nvidia-smi`. The others are none: an idle GPU, and
/// clocks that somebody has set.
const SLOW_DOWNS: [(ThrottleReasons, &str); 5] = [
    (ThrottleReasons::HW_SLOWDOWN, "HW Slowdown"),
    (ThrottleReasons::HW_THERMAL_SLOWDOWN, "HW Thermal Slowdown"),
    (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, "HW Power Brake Slowdown"),
    (ThrottleReasons::SW_THERMAL_SLOWDOWN, "SW Thermal Slowdown"),
    (ThrottleReasons::SW_POWER_CAP, "SW Power Cap"),
];

/// The slow-downs among `limits`.
fn slow_downs(limits: ThrottleReasons) -> Vec<String> {
    let real = SLOW_DOWNS.iter().filter(|(limit, _)| limits.contains(*limit));
    real.map(|(_, name)| (*name).to_owned()).collect()
}

/// One GPU and what was read of it last.
#[derive(Debug)]
pub struct GpuProbe<G> {
    gpu: G,
    name: String,
    driver: String,
    last_mj: u64,
    watched: Option<u64>,
    seen: Vec<String>,
}

impl<G: Gpu> GpuProbe<G> {
    /// `name` tells the GPU from others; `driver` is its driver's version.
    pub fn new(gpu: G, name: String, driver: String) -> Self {
        Self { gpu, name, driver, last_mj: 0, watched: None, seen: vec![] }
    }

    /// Version of the driver package.
    pub fn driver_version(&self) -> &str {
        &self.driver
    }

    /// Frequency of the multiprocessors now, in MHz.
    ///
    /// # Errors
    /// The driver's.
    pub fn clock_mhz(&self) -> Result<f64, String> {
        self.gpu.clock_mhz(Domain::Sm).map(f64::from)
    }

    /// Highest frequency of the multiprocessors, in MHz.
    ///
    /// # Errors
    /// The driver's.
    pub fn max_clock_mhz(&self) -> Result<f64, String> {
        self.gpu.max_clock_mhz(Domain::Sm).map(f64::from)
    }

    /// Frequency of the memory now, in MHz.
    ///
    /// # Errors
    /// The driver's.
    pub fn memory_clock_mhz(&self) -> Result<f64, String> {
        self.gpu.clock_mhz(Domain::Memory).map(f64::from)
    }

    /// Temperature of the die, in °C.
    ///
    /// # Errors
    /// The driver's.
    pub fn temperature_c(&self) -> Result<f64, String> {
        self.gpu.temperature_c().map(f64::from)
    }

    /// Why the GPU runs slower than it could now, in the words of `nvidia-smi`; empty when it does
    /// not. Settings and idleness are no reasons.
    ///
    /// # Errors
    /// The driver's.
    pub fn slow_downs(&self) -> Result<Vec<String>, String> {
        self.gpu.limits().map(slow_downs)
    }

    /// Whether the GPU has nothing to do, so that its clock is down.
    ///
    /// # Errors
    /// The driver's.
    pub fn is_idle(&self) -> Result<bool, String> {
        Ok(self.gpu.limits()?.contains(ThrottleReasons::GPU_IDLE))
    }

    /// Whether [`Self::slow_downs`] has any.
    ///
    /// # Errors
    /// The driver's.
    pub fn is_throttled(&self) -> Result<bool, String> {
        Ok(!self.slow_downs()?.is_empty())
    }

    /// From here on, [`Self::slowed_since`] watches. A driver that does not count slowed time is
    /// asked for its reasons alone.
    pub fn watch(&mut self) {
        self.watched = self.gpu.slowed_ns().ok();
    }

    /// Whether the GPU has slowed itself down since [`Self::watch`]: by the reasons in force now,
    /// and by time that the driver has counted since, which a reason that came and went leaves
    /// behind.
    ///
    /// # Errors
    /// The driver's.
    pub fn slowed_since(&mut self) -> Result<bool, String> {
        let mut reasons = self.slow_downs()?;
        if let Some(before) = self.watched.filter(|_| reasons.is_empty())
            && self.gpu.slowed_ns()? > before
        {
            reasons.push("power or heat, for a moment".to_owned());
        }
        let slowed = !reasons.is_empty();
        reasons.into_iter().for_each(|reason| self.remember(reason));
        Ok(slowed)
    }

    fn remember(&mut self, reason: String) {
        if !self.seen.contains(&reason) {
            self.seen.push(reason);
        }
    }
}

impl<G: Gpu> EnergyCounter for GpuProbe<G> {
    /// The counter goes back when the driver is loaded anew; a difference then means nothing.
    fn joules(&mut self) -> Result<f64, String> {
        let now = self.gpu.energy_mj()?;
        let before = std::mem::replace(&mut self.last_mj, now);
        if now < before {
            return Err(format!(
                "the energy counter of {} went back from {before} mJ to {now} mJ; \
                 was the driver loaded anew?",
                self.name
            ));
        }
        Ok(now as f64 / 1e3)
    }

    fn describe(&self) -> String {
        format!(
            "NVML's energy counter of {}: the whole board with its memory and all its MIG slices, \
             not the host",
            self.name
        )
    }
}

impl<G: Gpu> Readings for GpuProbe<G> {
    fn clock_method(&self) -> String {
        match self.clock_mhz() {
            Ok(_) => "NVML: the multiprocessors' clock when read".to_owned(),
            Err(reason) => format!("none: {reason}"),
        }
    }

    /// A slow-down since the last reading is remembered.
    fn read(&mut self) -> Reading {
        if let Err(reason) = self.slowed_since() {
            self.remember(format!("not known: {reason}"));
        }
        self.watch();
        Reading { clock_mhz: self.clock_mhz().ok(), temperature_c: self.temperature_c().ok() }
    }

    fn throttle_reasons(&mut self) -> Vec<String> {
        self.seen.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A device whose readings a test sets.
    struct Fake {
        mj: Cell<u64>,
        limits: Cell<ThrottleReasons>,
        slowed: Cell<Option<u64>>,
    }

    impl Gpu for &Fake {
        fn energy_mj(&self) -> Result<u64, String> {
            Ok(self.mj.get())
        }
        fn clock_mhz(&self, domain: Domain) -> Result<u32, String> {
            Ok(if domain == Domain::Sm { 1980 } else { 3201 })
        }
        fn max_clock_mhz(&self, _: Domain) -> Result<u32, String> {
            Ok(2100)
        }
        fn temperature_c(&self) -> Result<u32, String> {
            Err("temperature: not supported".to_owned())
        }
        fn limits(&self) -> Result<ThrottleReasons, String> {
            Ok(self.limits.get())
        }
        fn slowed_ns(&self) -> Result<u64, String> {
            self.slowed.get().ok_or_else(|| "not counted".to_owned())
        }
    }

    fn fake() -> Fake {
        Fake {
            mj: Cell::new(0),
            limits: Cell::new(ThrottleReasons::NONE),
            slowed: Cell::new(Some(0)),
        }
    }

    fn probe(fake: &Fake) -> GpuProbe<&Fake> {
        GpuProbe::new(fake, "GPU X".to_owned(), "580.1".to_owned())
    }

    #[test]
    fn energy_is_joules_and_never_runs_backwards_unnoticed() {
        let fake = fake();
        let mut probe = probe(&fake);
        // Beyond what 32 bits of millijoules hold.
        fake.mj.set(5_000_000_001);
        assert_eq!(probe.joules(), Ok(5_000_000.001));
        assert_eq!(probe.joules(), Ok(5_000_000.001), "no update yet is no error");
        fake.mj.set(7);
        let error = probe.joules().unwrap_err();
        assert!(error.contains("GPU X went back from 5000000001 mJ to 7 mJ"), "{error}");
        fake.mj.set(1007);
        assert_eq!(probe.joules(), Ok(1.007), "differences from here on are sound again");
        assert!(probe.describe().contains("GPU X"));
    }

    #[test]
    fn idleness_and_settings_are_no_slow_down() {
        let fake = fake();
        let probe = probe(&fake);
        let harmless = ThrottleReasons::GPU_IDLE
            | ThrottleReasons::APPLICATIONS_CLOCKS_SETTING
            | ThrottleReasons::SYNC_BOOST
            | ThrottleReasons::DISPLAY_CLOCK_SETTING;
        assert_eq!(probe.is_idle(), Ok(false));
        fake.limits.set(harmless);
        assert_eq!(probe.is_idle(), Ok(true));
        assert_eq!(probe.slow_downs(), Ok(vec![]));
        assert_eq!(probe.is_throttled(), Ok(false));
        fake.limits.set(ThrottleReasons::all());
        assert_eq!(probe.slow_downs().unwrap().len(), SLOW_DOWNS.len());
        fake.limits.set(harmless | ThrottleReasons::SW_POWER_CAP | ThrottleReasons::HW_SLOWDOWN);
        assert_eq!(
            probe.slow_downs(),
            Ok(vec!["HW Slowdown".to_owned(), "SW Power Cap".to_owned()])
        );
        assert_eq!(probe.is_throttled(), Ok(true));
    }

    #[test]
    fn a_slow_down_that_came_and_went_is_seen_where_the_driver_counts() {
        let fake = fake();
        let mut probe = probe(&fake);
        fake.slowed.set(Some(100));
        probe.watch();
        assert_eq!(probe.slowed_since(), Ok(false));
        fake.slowed.set(Some(101));
        assert_eq!(probe.slowed_since(), Ok(true));
        probe.watch();
        assert_eq!(probe.slowed_since(), Ok(false), "watched anew");
        // A driver that does not count: the reasons alone.
        fake.slowed.set(None);
        probe.watch();
        assert_eq!(probe.slowed_since(), Ok(false));
        for _ in 0..2 {
            fake.limits.set(ThrottleReasons::HW_THERMAL_SLOWDOWN);
            assert_eq!(probe.slowed_since(), Ok(true));
        }
        let seen = probe.throttle_reasons();
        assert_eq!(seen, ["power or heat, for a moment", "HW Thermal Slowdown"]);
    }

    #[test]
    fn a_reading_covers_the_time_since_the_last_one() {
        let fake = fake();
        let mut probe = probe(&fake);
        let quiet = Reading { clock_mhz: Some(1980.0), temperature_c: None };
        assert_eq!(probe.read(), quiet);
        fake.slowed.set(Some(5));
        assert_eq!(probe.read(), quiet);
        assert_eq!(probe.throttle_reasons(), ["power or heat, for a moment"]);
        assert_eq!(probe.read(), quiet);
        // The counter is lost between two readings: said, and not taken for a slow-down.
        fake.slowed.set(None);
        assert_eq!(probe.read(), quiet);
        let seen = probe.throttle_reasons();
        assert_eq!(seen, ["power or heat, for a moment", "not known: not counted"]);
        assert!(probe.clock_method().starts_with("NVML"));
    }

    #[test]
    fn readings_are_of_their_domain_and_errors_are_passed_on() {
        let fake = fake();
        let probe = probe(&fake);
        assert_eq!((probe.clock_mhz(), probe.memory_clock_mhz()), (Ok(1980.0), Ok(3201.0)));
        assert_eq!(probe.max_clock_mhz(), Ok(2100.0));
        assert_eq!(probe.temperature_c(), Err("temperature: not supported".to_owned()));
        assert_eq!(probe.driver_version(), "580.1");
    }
}

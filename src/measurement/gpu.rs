//! The state of a GPU: energy, utilization, clocks, temperature, and why it slowed itself down.

use nvml_wrapper::bitmasks::device::ThrottleReasons;

use super::conditions::{Reading, Readings};
use super::energy::EnergyCounter;
use super::utilization::{Sample, Samples, UtilizationMeter};

/// A part of a GPU, with a clock of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// The multiprocessors.
    Sm,
    /// The memory.
    Memory,
}

/// Nanoseconds for which a GPU's clocks have been held down since the driver was loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SlowedNs {
    /// By power.
    pub power: u64,
    /// By heat.
    pub heat: u64,
}

/// A GPU's driver. An error says what could not be read, and why.
pub trait Gpu {
    /// Millijoules that the board has taken since the driver was loaded.
    ///
    /// # Errors
    /// When the driver does not count them (before Volta), or not for this user.
    fn energy_mj(&self) -> Result<u64, String>;
    /// Frequency now, in MHz.
    fn clock_mhz(&self, domain: Domain) -> Result<u32, String>;
    /// Highest frequency, in MHz.
    fn max_clock_mhz(&self, domain: Domain) -> Result<u32, String>;
    /// Temperature of the die, in °C.
    fn temperature_c(&self) -> Result<u32, String>;
    /// The limits that hold the clocks down now, settings and idleness included.
    fn limits(&self) -> Result<ThrottleReasons, String>;
    /// For how long power and heat have held the clocks down.
    fn slowed_ns(&self) -> Result<SlowedNs, String>;
    /// Samples of how busy a part was, of those still held that end after `since_us`, in microseconds
    /// since the epoch.
    fn utilization(&self, domain: Domain, since_us: u64) -> Result<Vec<Sample>, String>;
    /// Processes that compute on it now.
    fn compute_processes(&self) -> Result<u32, String>;
}

/// Limits that are a slow-down, in the words of `nvidia-smi`. The others are none: an idle GPU, and
/// clocks that somebody has set.
const SLOW_DOWNS: [(ThrottleReasons, &str); 5] = [
    (ThrottleReasons::HW_SLOWDOWN, "HW Slowdown"),
    (ThrottleReasons::HW_THERMAL_SLOWDOWN, "HW Thermal Slowdown"),
    (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, "HW Power Brake Slowdown"),
    (ThrottleReasons::SW_THERMAL_SLOWDOWN, "SW Thermal Slowdown"),
    (ThrottleReasons::SW_POWER_CAP, POWER_CAP),
];
const POWER_CAP: &str = "SW Power Cap";
/// Reasons of a moment, which leave only counted time behind.
const POWER: &str = "power, for a moment";
const HEAT: &str = "heat, for a moment";

/// Whether a reason for throttling is the power limit.
pub fn is_power(reason: &str) -> bool {
    [POWER_CAP, POWER].contains(&reason)
}

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
    watched: Option<SlowedNs>,
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
    pub fn clock_mhz(&self) -> Result<f64, String> {
        self.gpu.clock_mhz(Domain::Sm).map(f64::from)
    }

    /// Highest frequency of the multiprocessors, in MHz.
    pub fn max_clock_mhz(&self) -> Result<f64, String> {
        self.gpu.max_clock_mhz(Domain::Sm).map(f64::from)
    }

    /// Frequency of the memory now, in MHz.
    pub fn memory_clock_mhz(&self) -> Result<f64, String> {
        self.gpu.clock_mhz(Domain::Memory).map(f64::from)
    }

    /// Temperature of the die, in °C.
    pub fn temperature_c(&self) -> Result<f64, String> {
        self.gpu.temperature_c().map(f64::from)
    }

    /// Why the GPU runs slower than it could now, in the words of `nvidia-smi`; empty when it does
    /// not. Settings and idleness are no reasons.
    pub fn slow_downs(&self) -> Result<Vec<String>, String> {
        self.gpu.limits().map(slow_downs)
    }

    /// Whether the GPU has nothing to do, so that its clock is down.
    pub fn is_idle(&self) -> Result<bool, String> {
        Ok(self.gpu.limits()?.contains(ThrottleReasons::GPU_IDLE))
    }

    fn remember(&mut self, reason: String) {
        if !self.seen.contains(&reason) {
            self.seen.push(reason);
        }
    }

    /// Remembers the reasons in force now, and those that came and went since the last look, as far as the driver counts
    /// the time that they took.
    fn look(&mut self) -> Result<(), String> {
        let reasons = self.slow_downs()?;
        let is_fast = reasons.is_empty();
        let only_power = reasons.iter().all(|reason| reason == POWER_CAP);
        reasons.into_iter().for_each(|reason| self.remember(reason));
        let Some(before) = self.watched.filter(|_| only_power) else { return Ok(()) };
        let slowed = self.gpu.slowed_ns()?;
        if slowed.heat > before.heat {
            self.remember(HEAT.to_owned());
        } else if is_fast && slowed.power > before.power {
            self.remember(POWER.to_owned());
        }
        Ok(())
    }
}

impl<G: Gpu> EnergyCounter for GpuProbe<G> {
    /// The counter goes back when the driver is loaded anew; a difference then means nothing.
    fn joules(&mut self) -> Result<f64, String> {
        let now = self.gpu.energy_mj()?;
        let before = std::mem::replace(&mut self.last_mj, now);
        if now < before {
            return Err(format!(
                "the energy counter of {} went back from {before} mJ to {now} mJ; was the driver \
                 reloaded?",
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

impl<G: Gpu> UtilizationMeter for GpuProbe<G> {
    fn samples(&self, since_us: u64) -> Result<Samples, String> {
        Ok(Samples {
            sm: self.gpu.utilization(Domain::Sm, since_us)?,
            memory: self.gpu.utilization(Domain::Memory, since_us)?,
        })
    }

    /// A driver's samples do not tell processes apart.
    fn method(&self) -> String {
        let processes = match self.gpu.compute_processes() {
            Ok(count) => format!("it sees {count} computing"),
            Err(reason) => format!("how many compute is not known: {reason}"),
        };
        format!(
            "NVML's samples of {}: time with a kernel running, and with memory read or written, of \
             all processes together; {processes}",
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
        if let Err(reason) = self.look() {
            self.remember(format!("not known: {reason}"));
        }
        // A driver that does not count is asked for its reasons alone.
        self.watched = self.gpu.slowed_ns().ok();
        Reading { clock_mhz: self.clock_mhz().ok(), temperature_c: self.temperature_c().ok() }
    }

    fn throttle_method(&self) -> String {
        match (self.gpu.slowed_ns(), self.gpu.limits()) {
            (Err(first), Err(second)) => format!("none: {first}; {second}"),
            _ => "NVML: the times and the limits that hold the clocks down".to_owned(),
        }
    }

    fn throttle_reasons(&mut self) -> Vec<String> {
        self.seen.clone()
    }
}

#[cfg(test)]
#[path = "gpu_tests.rs"]
mod tests;

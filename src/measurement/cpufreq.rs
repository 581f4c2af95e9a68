//! Frequencies of the host's processor as Linux's cpufreq shows them: they show whether the processor runs below its
//! nominal frequency, or whether its limit was lowered.

use std::fs;
use std::path::{Path, PathBuf};

use super::conditions::range;

/// Relative tolerance: a frequency may be read this much too low.
const TOLERANCE: f64 = 0.05;

/// The frequency readings of the CPU that this thread runs on. Idle CPUs are not read.
#[derive(Debug)]
pub(super) struct Cpufreq {
    cpus: PathBuf,
    /// The nominal frequency (without turbo), in MHz.
    nominal_mhz: Option<f64>,
    /// The frequency limit at the beginning, in MHz.
    limit_mhz: Option<f64>,
    lowest_limit_mhz: Option<f64>,
    readings_mhz: Vec<f64>,
}

impl Cpufreq {
    pub(super) fn in_folder(cpus: &Path) -> Self {
        let first = cpus.join("cpu0");
        // Intel's driver reports it in kHz, ACPI in MHz.
        let base = khz(&first.join("cpufreq/base_frequency"));
        let nominal = || number(&first.join("acpi_cppc/nominal_freq")).map(|mhz| mhz as f64);
        let limit_mhz = khz(&first.join("cpufreq/scaling_max_freq"));
        Self {
            nominal_mhz: base.or_else(nominal).filter(|mhz| *mhz > 0.0),
            limit_mhz,
            lowest_limit_mhz: limit_mhz,
            readings_mhz: Vec::new(),
            cpus: cpus.to_owned(),
        }
    }

    /// Reads the frequency and the limit now.
    pub(super) fn look(&mut self) {
        if self.nominal_mhz.is_none() && self.limit_mhz.is_none() {
            return;
        }
        let folder = self.cpus.join(format!("cpu{}/cpufreq", current_cpu()));
        self.readings_mhz.extend(khz(&folder.join("scaling_cur_freq")));
        let limit = khz(&self.cpus.join("cpu0/cpufreq/scaling_max_freq"));
        if let (Some(lowest), Some(limit)) = (&mut self.lowest_limit_mhz, limit) {
            *lowest = lowest.min(limit);
        }
    }

    /// The kinds of throttling that it can detect.
    pub(super) fn methods(&self) -> Vec<String> {
        let frequency = self.cpus.join("cpu0/cpufreq/scaling_cur_freq");
        let compares = self.nominal_mhz.is_some() && khz(&frequency).is_some();
        let against = compares.then_some("cpufreq: the frequency against the nominal one");
        let limit = self.limit_mhz.map(|_| "cpufreq: whether its limit falls");
        [against, limit].into_iter().flatten().map(str::to_owned).collect()
    }

    /// The detected throttling; empty if there was none.
    pub(super) fn reasons(&self) -> Vec<String> {
        // The median is used, because a single low reading may come from the moment before the CPU woke up.
        let usual = range(self.readings_mhz.clone()).map(|range| range.median);
        let slow = usual.zip(self.nominal_mhz);
        let slow = slow.filter(|(usual, nominal)| *usual < nominal * (1.0 - TOLERANCE));
        let slow = slow.map(|(usual, nominal)| {
            format!("frequency: {usual:.0} MHz, below the nominal {nominal:.0} MHz")
        });
        let lowered = self.limit_mhz.zip(self.lowest_limit_mhz);
        let lowered = lowered.filter(|(limit, lowest)| lowest < limit);
        let lowered = lowered.map(|(limit, lowest)| {
            format!("frequency: its limit fell from {limit:.0} to {lowest:.0} MHz")
        });
        slow.into_iter().chain(lowered).collect()
    }
}

fn khz(file: &Path) -> Option<f64> {
    Some(number(file)? as f64 / 1e3)
}

/// The CPU of this thread; 0 where the system does not report it.
fn current_cpu() -> u32 {
    #[cfg(target_os = "linux")]
    // SAFETY: it has no arguments, and reports failure as -1.
    return u32::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0);
    #[cfg(not(target_os = "linux"))]
    0
}

/// The number that a file of `/sys` holds.
pub(super) fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The files of every CPU that the test may run on.
    fn set(cpus: &Path, file: &str, text: &str) {
        for cpu in 0..=current_cpu().max(255) {
            let folder = cpus.join(format!("cpu{cpu}"));
            let path = folder.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn turbo_and_the_nominal_frequency_are_no_slow_down() {
        let cpus = tempfile::tempdir().unwrap();
        set(cpus.path(), "acpi_cppc/nominal_freq", "2400\n");
        for (khz, slow) in [("3700000\n", false), ("2300000\n", false), ("2200000\n", true)] {
            set(cpus.path(), "cpufreq/scaling_cur_freq", khz);
            let mut cpufreq = Cpufreq::in_folder(cpus.path());
            assert_eq!(cpufreq.methods().len(), 1);
            assert!(cpufreq.reasons().is_empty(), "nothing was read");
            cpufreq.look();
            assert_eq!(!cpufreq.reasons().is_empty(), slow, "{khz}");
        }
    }

    #[test]
    fn one_low_reading_among_others_is_no_slow_down() {
        let cpus = tempfile::tempdir().unwrap();
        set(cpus.path(), "cpufreq/base_frequency", "2000000\n");
        let mut cpufreq = Cpufreq::in_folder(cpus.path());
        for khz in ["800000\n", "2900000\n", "2900000\n"] {
            set(cpus.path(), "cpufreq/scaling_cur_freq", khz);
            cpufreq.look();
        }
        assert_eq!(cpufreq.reasons(), [""; 0]);
    }

    #[test]
    fn a_limit_that_falls_is_a_slow_down() {
        let cpus = tempfile::tempdir().unwrap();
        set(cpus.path(), "cpufreq/scaling_max_freq", "3500000\n");
        let mut cpufreq = Cpufreq::in_folder(cpus.path());
        assert_eq!(cpufreq.methods(), ["cpufreq: whether its limit falls"]);
        cpufreq.look();
        assert_eq!(cpufreq.reasons(), [""; 0]);
        set(cpus.path(), "cpufreq/scaling_max_freq", "1800000\n");
        cpufreq.look();
        set(cpus.path(), "cpufreq/scaling_max_freq", "3500000\n");
        cpufreq.look();
        assert_eq!(cpufreq.reasons(), ["frequency: its limit fell from 3500 to 1800 MHz"]);
    }
}

//! Clock, temperature and throttling of the host's processor.

use std::fs;
use std::path::{Path, PathBuf};

use super::conditions::{Reading, Readings};
use super::cpu_clock;
use super::cpufreq::{Cpufreq, number};

/// Drivers that report the temperature of the processor itself: Intel's, AMD's, the Raspberry Pi's,
/// and the ones of ARM servers.
const SENSORS: [&str; 5] = ["coretemp", "k10temp", "zenpower", "cpu_thermal", "scmi_sensors"];
/// Thermal zones that are the processor.
const ZONES: [&str; 5] = ["x86_pkg_temp", "cpu-thermal", "cpu_thermal", "soc_thermal", "TCPU"];

#[derive(Debug)]
pub(super) struct HostReadings {
    cpus: PathBuf,
    /// A file in thousandths of a degree.
    temperature: Option<PathBuf>,
    /// Throttle events when this began, of cores and of packages.
    before: Throttled,
    cpufreq: Cpufreq,
    clock_method: String,
}

impl HostReadings {
    pub(super) fn start() -> Self {
        Self::start_in(Path::new("/sys"))
    }

    fn start_in(sys: &Path) -> Self {
        let cpus = sys.join("devices/system/cpu");
        Self {
            temperature: temperature_file(&sys.join("class")),
            before: Throttled::read(&cpus),
            cpufreq: Cpufreq::in_folder(&cpus),
            cpus,
            clock_method: match cpu_clock::read_mhz() {
                Ok(_) => cpu_clock::METHOD.to_owned(),
                Err(reason) => format!("none: {reason}"),
            },
        }
    }

    /// Whether the processor counts how often it slowed itself down.
    pub(super) fn counts_throttling(&self) -> bool {
        entries(&self.cpus, "cpu").any(|cpu| cpu.join("thermal_throttle").is_dir())
    }
}

impl Readings for HostReadings {
    fn clock_method(&self) -> String {
        self.clock_method.clone()
    }

    fn read(&mut self) -> Reading {
        self.cpufreq.look();
        let millidegrees = self.temperature.as_deref().and_then(number);
        Reading {
            clock_mhz: cpu_clock::read_mhz().ok(),
            temperature_c: millidegrees.map(|value| value as f64 / 1000.0),
        }
    }

    fn throttle_method(&self) -> String {
        let counters = self.counts_throttling().then(|| "counters of thermal_throttle".to_owned());
        let told: Vec<String> = counters.into_iter().chain(self.cpufreq.methods()).collect();
        if told.is_empty() {
            let cpus = self.cpus.display();
            return format!(
                "none: {cpus} has neither counters of thermal_throttle nor a cpufreq with the nominal \
                 frequency or a limit; virtual machines seldom show them"
            );
        }
        told.join(", ")
    }

    fn throttle_reasons(&mut self) -> Vec<String> {
        let mut reasons = Throttled::read(&self.cpus).throttled_since(self.before);
        reasons.extend(self.cpufreq.reasons());
        reasons
    }
}

/// Events since boot in which the processor slowed itself down because it was hot. Intel only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Throttled {
    cores: u64,
    packages: u64,
}

impl Throttled {
    fn read(cpus: &Path) -> Self {
        let folders = entries(cpus, "cpu").map(|cpu| cpu.join("thermal_throttle"));
        let folders: Vec<PathBuf> = folders.collect();
        let sum = |file: &str| {
            folders.iter().filter_map(|folder| number(&folder.join(file))).sum::<u64>()
        };
        Self { cores: sum("core_throttle_count"), packages: sum("package_throttle_count") }
    }

    fn throttled_since(self, before: Self) -> Vec<String> {
        let told = |what: &str, now: u64, before: u64| {
            let times = now.saturating_sub(before);
            (times > 0).then(|| format!("thermal: {what} throttled {times} times"))
        };
        let cores = told("cores", self.cores, before.cores);
        cores.into_iter().chain(told("packages", self.packages, before.packages)).collect()
    }
}

/// The file with the processor's temperature; virtual machines have none.
fn temperature_file(class: &Path) -> Option<PathBuf> {
    let named = |folder: PathBuf, file: &str, names: &[&str]| {
        let name = fs::read_to_string(folder.join(file)).ok()?;
        names.contains(&name.trim()).then_some(folder)
    };
    let sensor = entries(&class.join("hwmon"), "hwmon")
        .find_map(|folder| named(folder, "name", &SENSORS))
        .map(|folder| folder.join("temp1_input"));
    let zone = || {
        entries(&class.join("thermal"), "thermal_zone")
            .find_map(|folder| named(folder, "type", &ZONES))
            .map(|folder| folder.join("temp"))
    };
    sensor.filter(|file| number(file).is_some()).or_else(zone)
}

/// Entries of `folder` that are called `prefix` and a number, in the order of their names.
fn entries(folder: &Path, prefix: &str) -> impl Iterator<Item = PathBuf> {
    let numbered = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        let number = name.and_then(|name| name.strip_prefix(prefix));
        number.is_some_and(|number| !number.is_empty() && number.parse::<u32>().is_ok())
    };
    let found = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = found.filter(numbered).collect();
    found.sort();
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn throttle(root: &Path, cpu: u32, core: u64, package: u64) {
        let folder = format!("devices/system/cpu/cpu{cpu}/thermal_throttle");
        write(root, &format!("{folder}/core_throttle_count"), &format!("{core}\n"));
        write(root, &format!("{folder}/package_throttle_count"), &format!("{package}\n"));
    }

    #[test]
    fn throttling_is_what_came_since_the_start() {
        let sys = tempfile::tempdir().unwrap();
        throttle(sys.path(), 0, 10, 3);
        throttle(sys.path(), 1, 5, 3);
        write(sys.path(), "devices/system/cpu/cpufreq/boost", "1\n");
        let mut readings = HostReadings::start_in(sys.path());
        assert!(readings.counts_throttling());
        assert!(!HostReadings::start_in(&sys.path().join("class")).counts_throttling());
        assert!(readings.throttle_reasons().is_empty());
        throttle(sys.path(), 1, 9, 3);
        assert_eq!(readings.throttle_reasons(), ["thermal: cores throttled 4 times"]);
        assert_eq!(readings.throttle_method(), "counters of thermal_throttle");
    }

    #[test]
    fn a_machine_that_tells_nothing_says_so() {
        let sys = tempfile::tempdir().unwrap();
        let mut readings = HostReadings::start_in(sys.path());
        readings.read();
        assert!(readings.throttle_reasons().is_empty());
        let method = readings.throttle_method();
        let cpus = sys.path().join("devices/system/cpu").display().to_string();
        assert!(method.starts_with(&format!("none: {cpus} has neither")), "{method}");
    }

    #[test]
    fn a_clock_below_the_nominal_one_is_a_reason() {
        let sys = tempfile::tempdir().unwrap();
        // Every CPU of this machine, as the test may run on any.
        for cpu in 0..1024 {
            let folder = format!("devices/system/cpu/cpu{cpu}/cpufreq");
            write(sys.path(), &format!("{folder}/base_frequency"), "2500000\n");
            write(sys.path(), &format!("{folder}/scaling_cur_freq"), "1200000\n");
        }
        let mut readings = HostReadings::start_in(sys.path());
        assert_eq!(readings.throttle_method(), "cpufreq: the frequency against the nominal one");
        readings.read();
        let reasons = readings.throttle_reasons();
        assert_eq!(reasons, ["frequency: 1200 MHz, below the nominal 2500 MHz"]);
    }

    #[test]
    fn the_processors_own_sensor_is_found() {
        let sys = tempfile::tempdir().unwrap();
        write(sys.path(), "class/hwmon/hwmon0/name", "nvme\n");
        write(sys.path(), "class/hwmon/hwmon0/temp1_input", "30000\n");
        write(sys.path(), "class/thermal/thermal_zone0/type", "acpitz\n");
        write(sys.path(), "class/thermal/thermal_zone0/temp", "27800\n");
        assert_eq!(HostReadings::start_in(sys.path()).read().temperature_c, None);
        write(sys.path(), "class/thermal/thermal_zone1/type", "x86_pkg_temp\n");
        write(sys.path(), "class/thermal/thermal_zone1/temp", "61000\n");
        assert_eq!(HostReadings::start_in(sys.path()).read().temperature_c, Some(61.0));
        write(sys.path(), "class/hwmon/hwmon1/name", "k10temp\n");
        write(sys.path(), "class/hwmon/hwmon1/temp1_input", "58625\n");
        assert_eq!(HostReadings::start_in(sys.path()).read().temperature_c, Some(58.625));
    }

    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[test]
    fn the_clock_of_this_machine_is_read() {
        let mut readings = HostReadings::start();
        assert_eq!(readings.clock_method(), "dependent-add chain");
        assert!(readings.read().clock_mhz.is_some_and(|mhz| mhz > 0.0));
    }
}

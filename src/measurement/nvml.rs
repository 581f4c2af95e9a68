//! NVIDIA's management library, which the driver brings along. It is loaded when first asked for;
//! a program starts without it.

use std::ffi::OsStr;

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, PerformancePolicy, Sampling, TemperatureSensor};
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::NvmlError;
use once_cell::sync::Lazy;

use super::gpu::{Domain, Gpu, GpuProbe, SlowedNs};
use super::utilization::Sample;
use crate::native::cuda;

/// The driver's own name for it, without the link that only development packages bring.
pub const LIBRARY: &str = "libnvidia-ml.so.1";

static NVML: Lazy<Result<nvml_wrapper::Nvml, String>> = Lazy::new(|| load(LIBRARY));

/// A GPU as NVML sees it.
#[derive(Debug)]
pub struct NvmlGpu<'nvml>(nvml_wrapper::Device<'nvml>);

/// The probe of CUDA device `index`. NVML is loaded once per process.
///
/// The two number devices differently (CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER steer CUDA only),
/// so the device is looked up by its place on the PCI bus.
///
/// # Errors
/// Why there is none, in one line: CUDA is not linked or has no such device, or NVML cannot be
/// loaded or does not know it.
pub fn open(index: usize) -> Result<GpuProbe<NvmlGpu<'static>>, String> {
    let device = cuda::device(index).map_err(|error| error.to_string())?;
    probe_at(NVML.as_ref().map_err(String::clone)?, &device.pci_bus)
}

fn load(library: &str) -> Result<nvml_wrapper::Nvml, String> {
    nvml_wrapper::Nvml::builder()
        .lib_path(OsStr::new(library))
        .init()
        .map_err(|error| format!("NVML cannot be used: {error} ({library} comes with the driver)"))
}

fn probe_at<'nvml>(
    nvml: &'nvml nvml_wrapper::Nvml,
    pci_bus: &str,
) -> Result<GpuProbe<NvmlGpu<'nvml>>, String> {
    let device = nvml
        .device_by_pci_bus_id(pci_bus)
        .map_err(|error| format!("NVML knows no GPU at {pci_bus}: {error}"))?;
    let name = device.name().map_err(reason("the name"))?;
    let driver = nvml.sys_driver_version().map_err(reason("the driver's version"))?;
    Ok(GpuProbe::new(NvmlGpu(device), format!("{name} at {pci_bus}"), driver))
}

/// The message about a value that NVML could not read.
fn reason(what: &str) -> impl Fn(NvmlError) -> String + use<'_> {
    move |error| format!("NVML cannot read {what}: {error}")
}

impl From<Domain> for Clock {
    fn from(domain: Domain) -> Self {
        match domain {
            Domain::Sm => Self::SM,
            Domain::Memory => Self::Memory,
        }
    }
}

impl From<Domain> for Sampling {
    fn from(domain: Domain) -> Self {
        match domain {
            Domain::Sm => Self::GpuUtilization,
            Domain::Memory => Self::MemoryUtilization,
        }
    }
}

fn sample(sample: &nvml_wrapper::struct_wrappers::device::Sample) -> Result<Sample, String> {
    match sample.value {
        SampleValue::U32(percent) => Ok(Sample { at_us: sample.timestamp, percent }),
        ref other => Err(format!("NVML gave a utilization of {other:?}, no unsigned int")),
    }
}

impl NvmlGpu<'_> {
    /// Whether the GPU is cut into slices (MIG); one too old for that is not.
    fn is_sliced(&self) -> Result<bool, String> {
        // NVML_DEVICE_MIG_ENABLE
        const ON: u32 = 1;
        match self.0.mig_mode() {
            Err(NvmlError::NotSupported | NvmlError::FailedToLoadSymbol(_)) => Ok(false),
            mode => Ok(mode.map_err(reason("whether MIG is on"))?.current == ON),
        }
    }
}

impl Gpu for NvmlGpu<'_> {
    fn energy_mj(&self) -> Result<u64, String> {
        self.0.total_energy_consumption().map_err(reason("the energy"))
    }

    fn clock_mhz(&self, domain: Domain) -> Result<u32, String> {
        self.0.clock_info(domain.into()).map_err(reason("a clock"))
    }

    fn max_clock_mhz(&self, domain: Domain) -> Result<u32, String> {
        self.0.max_clock_info(domain.into()).map_err(reason("the highest clock"))
    }

    fn temperature_c(&self) -> Result<u32, String> {
        self.0.temperature(TemperatureSensor::Gpu).map_err(reason("the temperature"))
    }

    fn limits(&self) -> Result<ThrottleReasons, String> {
        self.0.current_throttle_reasons().map_err(reason("what limits the clocks"))
    }

    fn slowed_ns(&self) -> Result<SlowedNs, String> {
        let slowed = |policy| {
            let violation = self.0.violation_status(policy).map_err(reason("slowed time"))?;
            Ok::<u64, String>(violation.violation_time)
        };
        let power = slowed(PerformancePolicy::Power)?;
        Ok(SlowedNs { power, heat: slowed(PerformancePolicy::Thermal)? })
    }

    /// NVML reads no utilization of a slice (MIG).
    fn utilization(&self, domain: Domain, since_us: u64) -> Result<Vec<Sample>, String> {
        if self.is_sliced()? {
            return Err("MIG is on: NVML reads no utilization of a slice".to_owned());
        }
        match self.0.samples(domain.into(), since_us) {
            // None is newer.
            Err(NvmlError::NotFound) => Ok(vec![]),
            samples => samples.map_err(reason("the utilization"))?.iter().map(sample).collect(),
        }
    }

    fn compute_processes(&self) -> Result<u32, String> {
        self.0.running_compute_processes_count().map_err(reason("who computes"))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::path::PathBuf;
    use std::process::Command;

    use super::*;
    use crate::measurement::conditions::Readings as _;
    use crate::measurement::energy::EnergyCounter;
    use crate::measurement::utilization::{self, Samples, Span, UtilizationMeter};

    #[test]
    fn without_a_device_it_says_why() {
        let devices = cuda::build().expect("always answers").map_or(0, |build| build.devices);
        let reason = open(devices).expect_err("one past the last device");
        assert!(reason.contains("CUDA"), "{reason}");
        let reason = load("libno-such-library.so.1").expect_err("nobody has it");
        assert!(reason.starts_with("NVML cannot be used: "), "{reason}");
        assert!(reason.contains("libno-such-library.so.1"), "{reason}");
    }

    #[test]
    fn every_cuda_device_has_its_probe() {
        let devices = cuda::build().expect("always answers").map_or(0, |build| build.devices);
        if devices == 0 {
            crate::skip::hardware("no CUDA device");
        }
        for index in 0..devices {
            let mut probe = open(index).expect("the driver brings NVML");
            println!("{}: {:?} MHz", probe.describe(), probe.clock_mhz());
            assert!(probe.joules().expect("Volta and later count") > 0.0);
            assert!(probe.max_clock_mhz() >= probe.clock_mhz());
        }
    }

    /// A library with three GPUs, compiled from `tests/fakes/nvml.c`.
    fn fake(folder: &tempfile::TempDir) -> nvml_wrapper::Nvml {
        let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fakes/nvml.c");
        let library = folder.path().join("libnvidia-ml.so.1");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let mut command = Command::new(compiler);
        command.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source);
        assert!(command.status().expect("the shim needs a compiler too").success());
        load(library.to_str().expect("a plain path")).expect("it loads")
    }

    #[test]
    fn a_device_is_found_by_its_place_and_every_reading_is_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let nvml = fake(&folder);
        let mut second = probe_at(&nvml, "0000:41:00.0").unwrap();
        assert!(second.describe().contains("Fake 1 at 0000:41:00.0"), "{}", second.describe());
        assert_eq!(second.driver_version(), "580.95.05");
        assert_eq!(second.joules(), Ok(1001.0));
        assert_eq!(second.joules(), Ok(1002.0));
        assert_eq!((second.clock_mhz(), second.memory_clock_mhz()), (Ok(1601.0), Ok(2601.0)));
        assert_eq!(second.max_clock_mhz(), Ok(1981.0));
        assert_eq!(second.temperature_c(), Ok(51.0));
        assert_eq!(second.slow_downs(), Ok(vec!["SW Power Cap".to_owned()]));
        let first = probe_at(&nvml, "0000:01:00.0").unwrap();
        assert_eq!(first.slow_downs(), Ok(vec![]), "idle is no slow-down");
        let absent = probe_at(&nvml, "0000:99:00.0").unwrap_err();
        assert!(absent.starts_with("NVML knows no GPU at 0000:99:00.0: "), "{absent}");
    }

    #[test]
    fn what_the_device_does_not_offer_is_an_error_of_that_reading_alone() {
        let folder = tempfile::tempdir().unwrap();
        let nvml = fake(&folder);
        let mut first = probe_at(&nvml, "0000:01:00.0").unwrap();
        let energy = first.joules().unwrap_err();
        assert!(energy.starts_with("NVML cannot read the energy: "), "{energy}");
        assert_eq!(first.clock_mhz(), Ok(1600.0));
        let samples = first.samples(0).unwrap_err();
        assert!(samples.starts_with("NVML cannot read the utilization: "), "{samples}");
        // Nor does it count slowed time.
        first.read();
        first.read();
        assert_eq!(first.throttle_reasons(), [""; 0]);
    }

    #[test]
    fn time_slowed_by_power_is_not_taken_for_heat() {
        let folder = tempfile::tempdir().unwrap();
        let nvml = fake(&folder);
        // At its power limit, and its slowed time grows by that alone.
        let mut second = probe_at(&nvml, "0000:41:00.0").unwrap();
        second.read();
        second.read();
        assert_eq!(second.throttle_reasons(), ["SW Power Cap"]);
        // As hot as it is hungry.
        let mut third = probe_at(&nvml, "0000:81:00.0").unwrap();
        third.read();
        third.read();
        assert!(third.throttle_reasons().iter().any(|it| it.contains("heat")));
    }

    /// The fake's GPU at 41:00.0 samples from second 10 to second 15, every 0.2 s.
    fn utilization_between(from_us: u64, until_us: u64) -> Result<plan::Utilization, String> {
        let folder = tempfile::tempdir().unwrap();
        let nvml = fake(&folder);
        let probe = probe_at(&nvml, "0000:41:00.0").unwrap();
        let settings = plan::EnergyPass { window_s: 2.0, ..plan::EnergyPass::default() };
        utilization::summarize(&probe, settings, Span::between(from_us, until_us))
    }

    #[test]
    fn only_samples_within_the_steps_make_the_utilization() {
        let found = utilization_between(11_000_000, 13_250_000).unwrap();
        // The samples of seconds 12, 12.2, … 13.2; the period of an earlier one may have begun outside.
        assert_eq!(found.sm, plan::Range { min: 0.60, median: 0.63, max: 0.66 });
        assert_eq!(found.memory, plan::Range { min: 0.10, median: 0.13, max: 0.16 });
        assert_eq!((found.window_s, found.samples), (2.25, 7));
        assert!(found.method.contains("Fake 1 at 0000:41:00.0"), "{}", found.method);
        assert!(found.method.ends_with("it sees 2 computing"), "{}", found.method);
        // The steps outlast the samples.
        let found = utilization_between(13_500_000, 16_000_000).unwrap();
        assert_eq!((found.sm.min, found.sm.max, found.samples), (0.73, 0.75, 3));
    }

    #[test]
    fn a_time_without_samples_has_no_utilization() {
        // Too short by a hair for the next sample; later than all of them.
        for (from_us, until_us) in [(11_050_000, 12_150_000), (16_000_000, 19_000_000)] {
            let reason = utilization_between(from_us, until_us).unwrap_err();
            assert!(reason.contains("samples of the multiprocessors"), "{reason}");
        }
    }

    #[test]
    fn a_gpu_in_slices_has_no_utilization() {
        let folder = tempfile::tempdir().unwrap();
        let nvml = fake(&folder);
        let sliced = probe_at(&nvml, "0000:81:00.0").unwrap();
        let reason = "MIG is on: NVML reads no utilization of a slice";
        assert_eq!(sliced.samples(0), Err(reason.to_owned()));
        // The others are whole, or too old for slices.
        let whole = probe_at(&nvml, "0000:41:00.0").unwrap();
        let Samples { sm, memory } = whole.samples(14_900_000).unwrap();
        assert_eq!((sm.len(), memory.len()), (1, 1));
    }
}

//! NVIDIA's management library, which the driver brings along. It is loaded when first asked for;
//! a program starts without it.

use std::ffi::OsStr;

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, PerformancePolicy, TemperatureSensor};
use nvml_wrapper::error::NvmlError;
use once_cell::sync::Lazy;

use super::gpu::{Domain, Gpu, GpuProbe};
use crate::native::cuda;

/// The driver's own name for it, without the link that only development packages bring.
const LIBRARY: &str = "libnvidia-ml.so.1";

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
    at(NVML.as_ref().map_err(String::clone)?, &device.pci_bus)
}

fn load(library: &str) -> Result<nvml_wrapper::Nvml, String> {
    nvml_wrapper::Nvml::builder()
        .lib_path(OsStr::new(library))
        .init()
        .map_err(|error| format!("NVML cannot be used: {error} ({library} comes with the driver)"))
}

fn at<'nvml>(
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

/// What NVML could not read, and why.
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

    fn slowed_ns(&self) -> Result<u64, String> {
        let slowed = |policy| {
            let violation = self.0.violation_status(policy).map_err(reason("slowed time"))?;
            Ok::<u64, String>(violation.violation_time)
        };
        Ok(slowed(PerformancePolicy::Power)? + slowed(PerformancePolicy::Thermal)?)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::path::PathBuf;
    use std::process::Command;

    use super::*;
    use crate::measurement::energy::EnergyCounter;

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
            println!("skipped: no CUDA device");
        }
        for index in 0..devices {
            let mut probe = open(index).expect("the driver brings NVML");
            println!("{}: {:?} MHz", probe.describe(), probe.clock_mhz());
            assert!(probe.joules().expect("Volta and later count") > 0.0);
            assert!(probe.max_clock_mhz() >= probe.clock_mhz());
        }
    }

    /// A library with two GPUs, compiled from `tests/fakes/nvml.c`.
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
        let mut second = at(&nvml, "0000:41:00.0").unwrap();
        assert!(second.describe().contains("Fake 1 at 0000:41:00.0"), "{}", second.describe());
        assert_eq!(second.driver_version(), "580.95.05");
        assert_eq!(second.joules(), Ok(1001.0));
        assert_eq!(second.joules(), Ok(1002.0));
        assert_eq!((second.clock_mhz(), second.memory_clock_mhz()), (Ok(1601.0), Ok(2601.0)));
        assert_eq!(second.max_clock_mhz(), Ok(1981.0));
        assert_eq!(second.temperature_c(), Ok(51.0));
        assert_eq!(second.slow_downs(), Ok(vec!["SW Power Cap".to_owned()]));
        let first = at(&nvml, "0000:01:00.0").unwrap();
        assert_eq!(first.slow_downs(), Ok(vec![]), "idle is no slow-down");
        let absent = at(&nvml, "0000:99:00.0").unwrap_err();
        assert!(absent.starts_with("NVML knows no GPU at 0000:99:00.0: "), "{absent}");
    }

    #[test]
    fn what_the_device_does_not_offer_is_an_error_of_that_reading_alone() {
        let folder = tempfile::tempdir().unwrap();
        let nvml = fake(&folder);
        let mut first = at(&nvml, "0000:01:00.0").unwrap();
        let energy = first.joules().unwrap_err();
        assert!(energy.starts_with("NVML cannot read the energy: "), "{energy}");
        assert_eq!(first.clock_mhz(), Ok(1600.0));
        // Slowed time is not in this library at all.
        first.watch();
        assert_eq!(first.slowed_since(), Ok(false));
    }
}

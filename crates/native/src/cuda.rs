//! The CUDA that libtorch was built with, and its devices.
//!
//! Works in a program without CUDA: there `build` is `None` and everything else an error that says so.

use std::ffi::c_void;

use super::border::{self, Status, TextOut, check};
use super::error::Error;

unsafe extern "C" {
    fn ctn_cuda_build(out: *mut RawBuild) -> Status;
    fn ctn_cuda_device(index: i32, out: *mut RawDevice) -> Status;
    fn ctn_cuda_name(index: i32, out: TextOut) -> Status;
    fn ctn_cuda_pci_bus(index: i32, out: TextOut) -> Status;
    safe fn ctn_cuda_synchronize(index: i32) -> Status;
    safe fn ctn_cuda_sleep(index: i32, cycles: i64) -> Status;
    fn ctn_cuda_current_stream(index: i32, out: *mut *mut c_void) -> Status;
    safe fn ctn_cuda_reset_persisting_l2(index: i32) -> Status;
    safe fn ctn_cuda_empty_cache() -> Status;
}

/// `CudaBuild` of `shim/cuda.cpp`.
#[repr(C)]
#[derive(Default)]
struct RawBuild {
    linked: bool,
    toolkit: i64,
    cudnn: i64,
    devices: i32,
}

/// `CudaDevice` of `shim/cuda.cpp`.
#[repr(C)]
#[derive(Default)]
struct RawDevice {
    free_bytes: u64,
    total_bytes: u64,
    capability_major: i32,
    capability_minor: i32,
    driver: i32,
    clock_khz: i32,
    l2_bytes: i32,
}

/// The CUDA that libtorch was built with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Build {
    /// CUDA's version, such as `12.8`.
    pub toolkit: String,
    /// cuDNN's own number, such as 91002 for 9.10.2.
    pub cudnn: Option<u64>,
    /// Usable devices; 0 also when there is no driver.
    pub devices: usize,
}

/// One device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// The driver's name for it.
    pub name: String,
    /// Memory that nobody holds at the moment.
    pub free_bytes: u64,
    /// Memory of the device.
    pub total_bytes: u64,
    /// Compute capability, such as (9, 0).
    pub capability: (i32, i32),
    /// The newest CUDA version that the driver supports. Not the number of the driver package.
    pub driver_cuda: String,
    /// Its place, as domain:bus:device.function. CUDA and NVML number devices differently; this they share.
    pub pci_bus: String,
    /// Rated frequency of the multiprocessors, in kHz; they may boost beyond it.
    pub clock_khz: u64,
    /// Bytes of the L2 cache; 0 when the driver does not say.
    pub l2_bytes: u64,
}

impl Device {
    /// Whether the device is new enough for `what`, a plural.
    ///
    /// # Errors
    /// The compute capability that it has, and the one that is needed.
    pub fn require(&self, least: (i32, i32), what: &str) -> Result<(), String> {
        if self.capability >= least {
            return Ok(());
        }
        let ((major, minor), (least_major, least_minor)) = (self.capability, least);
        Err(format!(
            "compute capability {major}.{minor}, but {what} need {least_major}.{least_minor} or above"
        ))
    }
}

/// The CUDA that is linked into this program; `None` when libtorch_cuda is not.
pub fn build() -> Result<Option<Build>, Error> {
    // SAFETY: `out` is writable.
    let found = border::value(|out| unsafe { ctn_cuda_build(out) })?;
    let RawBuild { linked, toolkit, cudnn, devices } = found;
    Ok(linked.then(|| Build {
        toolkit: version(toolkit),
        cudnn: u64::try_from(cudnn).ok(),
        devices: usize::try_from(devices).unwrap_or(0),
    }))
}

/// Describes a device.
pub fn device(index: usize) -> Result<Device, Error> {
    let index = device_index(index)?;
    // SAFETY: `out` is writable.
    let found: RawDevice = border::value(|out| unsafe { ctn_cuda_device(index, out) })?;
    Ok(Device {
        // SAFETY: as above.
        name: border::text(|out| unsafe { ctn_cuda_name(index, out) })?,
        free_bytes: found.free_bytes,
        total_bytes: found.total_bytes,
        capability: (found.capability_major, found.capability_minor),
        driver_cuda: version(found.driver.into()),
        // SAFETY: as above.
        pci_bus: border::text(|out| unsafe { ctn_cuda_pci_bus(index, out) })?,
        clock_khz: u64::try_from(found.clock_khz).unwrap_or(0),
        l2_bytes: u64::try_from(found.l2_bytes).unwrap_or(0),
    })
}

/// Waits until a device has nothing left to do.
///
/// # Errors
/// When there is no such device, or when CUDA reports an error of work queued earlier.
pub fn synchronize(index: usize) -> Result<(), Error> {
    check(ctn_cuda_synchronize(device_index(index)?))
}

/// Queues a kernel on the device's current stream that does nothing for `cycles` of the multiprocessors' clock, and
/// returns at once. At a frequency of f the device takes `cycles / f` for it, a few microseconds of launch aside.
///
/// # Errors
/// When libtorch_cuda is not linked or has no such kernel, when there is no such device, or when CUDA reports an error
/// of work queued earlier.
pub fn sleep(index: usize, cycles: u64) -> Result<(), Error> {
    let cycles = i64::try_from(cycles).map_err(|_| {
        Error::Torch(format!("a sleep of {cycles} cycles is above the limit of {}", i64::MAX))
    })?;
    check(ctn_cuda_sleep(device_index(index)?, cycles))
}

/// The `CUstream` that libtorch queues this thread's work on; null is the default stream.
pub fn current_stream(index: usize) -> Result<*mut c_void, Error> {
    let mut stream = std::ptr::null_mut();
    // SAFETY: `stream` is writable.
    check(unsafe { ctn_cuda_current_stream(device_index(index)?, &mut stream) })?;
    Ok(stream)
}

/// Lets go of lines of the L2 cache that were set aside for data that persists, which no amount of other data would evict.
///
/// # Errors
/// When there is no such device, or when CUDA reports an error of work queued earlier.
pub fn reset_persisting_l2(index: usize) -> Result<(), Error> {
    check(ctn_cuda_reset_persisting_l2(device_index(index)?))
}

/// Gives device memory that libtorch caches back to the driver, on all devices.
pub fn empty_cache() -> Result<(), Error> {
    check(ctn_cuda_empty_cache())
}

/// libtorch's own type for an index is smaller than tch's.
pub(super) fn device_index(index: usize) -> Result<i32, Error> {
    i32::try_from(index).map_err(|_| Error::Torch(format!("there is no CUDA device {index}")))
}

/// CUDA writes 12.8 as 12080.
fn version(number: i64) -> String {
    format!("{}.{}", number / 1000, number % 1000 / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_cuda_is_none_and_its_devices_errors() {
        let build = build().expect("always answers");
        println!("{build:?}");
        let devices = build.as_ref().map_or(0, |build| build.devices);
        assert_eq!(i64::try_from(devices), Ok(tch::Cuda::device_count()));
        assert!(device(devices).is_err());
        if devices == 0 {
            for error in [
                empty_cache(),
                synchronize(0),
                sleep(0, 1),
                reset_persisting_l2(0),
                current_stream(0).map(drop),
            ]
            .map(|result| result.expect_err("no device"))
            {
                assert!(error.to_string().contains("CUDA"), "{error}");
            }
        }
    }

    /// The kernel is found in libtorch_cuda by its mangled name. Only then is the device asked for, so that a program
    /// with CUDA notices on any machine when another libtorch has no such name.
    #[test]
    fn where_cuda_is_linked_the_sleep_kernel_is_found() {
        let Some(build) = build().expect("always answers") else {
            let error = sleep(0, 1000).expect_err("no CUDA");
            assert!(error.to_string().starts_with("CUDA is not linked"), "{error}");
            return;
        };
        match sleep(build.devices, 1000) {
            Err(Error::Torch(reason)) if build.devices == 0 => {
                assert!(reason.contains("no usable CUDA device"), "{reason}");
            }
            Err(Error::Torch(reason)) => {
                assert!(reason.contains("there is no CUDA device"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
        assert!(sleep(0, u64::MAX).is_err());
    }

    #[test]
    fn every_device_describes_itself() {
        let devices = build().expect("always answers").map_or(0, |build| build.devices);
        if devices == 0 {
            crate::skip::hardware("no CUDA device");
        }
        for index in 0..devices {
            let device = device(index).expect("counted devices exist");
            println!("{device:?}");
            assert!(!device.name.is_empty());
            assert!(device.total_bytes >= device.free_bytes);
            assert!(device.pci_bus.contains(':'), "{}", device.pci_bus);
            assert!(device.clock_khz > 100_000, "{}", device.clock_khz);
            current_stream(index).expect("there is one");
            sleep(index, 1000).expect("queued");
            reset_persisting_l2(index).expect("a device has some or supports none");
            synchronize(index).expect("done");
            empty_cache().expect("a device is there");
        }
    }

    #[test]
    fn a_capability_that_is_too_low_is_said() {
        let device = |capability| Device {
            name: String::new(),
            free_bytes: 0,
            total_bytes: 0,
            capability,
            driver_cuda: String::new(),
            pci_bus: String::new(),
            clock_khz: 0,
            l2_bytes: 0,
        };
        for capability in [(8, 9), (9, 0), (12, 0)] {
            assert_eq!(device(capability).require((8, 9), "float8 products"), Ok(()));
        }
        let refusal = device((8, 6)).require((8, 9), "float8 products").unwrap_err();
        assert_eq!(refusal, "compute capability 8.6, but float8 products need 8.9 or above");
        assert!(device((7, 10)).require((8, 0), "products").is_err());
    }

    #[test]
    fn versions_as_people_write_them() {
        assert_eq!(version(12080), "12.8");
        assert_eq!(version(13000), "13.0");
        assert_eq!(version(11080), "11.8");
    }
}

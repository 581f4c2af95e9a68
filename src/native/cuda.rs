//! The CUDA that libtorch was built with, and its devices.
//!
//! Works in a program without CUDA: there `build` is `None` and everything else an error that says so.

use ::native as shim;

use super::error::{Error, check, take_string};

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
}

/// The CUDA that is linked into this program; `None` when libtorch_cuda is not.
///
/// # Errors
/// When libtorch cannot say.
pub fn build() -> Result<Option<Build>, Error> {
    let mut linked = 0;
    let mut found = shim::CudaBuild::default();
    // SAFETY: both are writable.
    check(unsafe { shim::ctn_cuda_build(&mut linked, &mut found) })?;
    let shim::CudaBuild { toolkit, cudnn, devices } = found;
    Ok((linked != 0).then(|| Build {
        toolkit: version(toolkit),
        cudnn: u64::try_from(cudnn).ok(),
        devices: usize::try_from(devices).unwrap_or(0),
    }))
}

/// Describes a device.
///
/// # Errors
/// When there is no such device, or when its driver cannot be asked.
pub fn device(index: usize) -> Result<Device, Error> {
    let mut found = std::mem::MaybeUninit::<shim::CudaDevice>::uninit();
    // SAFETY: `found` is writable.
    check(unsafe { shim::ctn_cuda_device(device_index(index)?, found.as_mut_ptr()) })?;
    // SAFETY: written whenever the status is fine.
    let found = unsafe { found.assume_init() };
    let shim::CudaDevice {
        name,
        free_bytes,
        total_bytes,
        capability_major,
        capability_minor,
        driver,
    } = found;
    Ok(Device {
        // SAFETY: the name is handed over with the struct and used only here.
        name: unsafe { take_string(name) },
        free_bytes,
        total_bytes,
        capability: (capability_major, capability_minor),
        driver_cuda: version(i64::from(driver)),
    })
}

/// Waits until a device has nothing left to do.
///
/// # Errors
/// When there is no such device, or when CUDA reports an error of work queued earlier.
pub fn synchronize(index: usize) -> Result<(), Error> {
    check(shim::ctn_cuda_synchronize(device_index(index)?))
}

/// Gives device memory that libtorch caches back to the driver, on all devices.
///
/// # Errors
/// When there is no device.
pub fn empty_cache() -> Result<(), Error> {
    check(shim::ctn_cuda_empty_cache())
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
            for error in
                [empty_cache(), synchronize(0)].map(|result| result.expect_err("no device"))
            {
                assert!(error.to_string().contains("CUDA"), "{error}");
            }
        }
    }

    #[test]
    fn every_device_describes_itself() {
        let devices = build().expect("always answers").map_or(0, |build| build.devices);
        if devices == 0 {
            println!("skipped: no CUDA device");
        }
        for index in 0..devices {
            let device = device(index).expect("counted devices exist");
            println!("{device:?}");
            assert!(!device.name.is_empty());
            assert!(device.total_bytes >= device.free_bytes);
            empty_cache().expect("a device is there");
        }
    }

    #[test]
    fn versions_as_people_write_them() {
        assert_eq!(version(12080), "12.8");
        assert_eq!(version(13000), "13.0");
        assert_eq!(version(11080), "11.8");
    }
}

//! Devices other than CUDA's: Metal's (`mps`) and Intel's (`xpu`), as libtorch reports them.
//!
//! Works in a program without them: then `built` is false, `devices` is 0, and the other functions return libtorch's
//! error.

use super::border::{self, Status, check};
use super::error::Error;

unsafe extern "C" {
    fn ctn_accelerator_mps(out: *mut RawAccelerator) -> Status;
    fn ctn_accelerator_xpu(out: *mut RawAccelerator) -> Status;
    safe fn ctn_accelerator_mps_synchronize() -> Status;
    safe fn ctn_accelerator_mps_empty_cache() -> Status;
}

/// `Accelerator` of `shim/accelerator.cpp`.
#[repr(C)]
#[derive(Default)]
struct RawAccelerator {
    built: bool,
    devices: i32,
}

/// Whether libtorch supports a kind of device, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accelerator {
    /// Whether libtorch was built for it.
    pub built: bool,
    /// Usable devices.
    pub devices: usize,
}

/// Apple's GPU.
pub fn mps() -> Result<Accelerator, Error> {
    // SAFETY: `out` is writable.
    border::value(|out| unsafe { ctn_accelerator_mps(out) }).map(Accelerator::from)
}

/// Intel's GPUs.
pub fn xpu() -> Result<Accelerator, Error> {
    // SAFETY: `out` is writable.
    border::value(|out| unsafe { ctn_accelerator_xpu(out) }).map(Accelerator::from)
}

/// Waits until all work on Apple's GPU has ended.
///
/// # Errors
/// When there is none.
pub fn synchronize_mps() -> Result<(), Error> {
    check(ctn_accelerator_mps_synchronize())
}

/// Returns the memory of Apple's GPU that libtorch caches to the system.
///
/// # Errors
/// When there is none.
pub fn empty_mps_cache() -> Result<(), Error> {
    check(ctn_accelerator_mps_empty_cache())
}

impl From<RawAccelerator> for Accelerator {
    fn from(RawAccelerator { built, devices }: RawAccelerator) -> Self {
        Self { built, devices: usize::try_from(devices).unwrap_or(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libtorch_says_the_same_as_tch_and_its_own_hooks() {
        let (mps, xpu) = (mps().expect("always answers"), xpu().expect("always answers"));
        println!("mps {mps:?}, xpu {xpu:?}");
        assert_eq!(mps.devices > 0, tch::utils::has_mps());
        for found in [mps, xpu] {
            assert!(found.built || found.devices == 0, "{found:?}");
        }
        // Metal is Apple's.
        assert_eq!(mps.built, cfg!(target_os = "macos"));
        if mps.devices == 0 {
            for error in [synchronize_mps(), empty_mps_cache()] {
                let error = error.expect_err("no device").to_string();
                assert!(error.contains("MPS"), "{error}");
            }
        }
    }
}

//! Declarations of `shim/profile.cpp`.

use std::ffi::{c_char, c_void};

use super::Status;

/// [`ProfileEvent::activity`]: an operator on the host.
pub const PROFILE_OPERATOR: i32 = 0;
/// [`ProfileEvent::activity`]: a call of CUDA's runtime or driver on the host.
pub const PROFILE_RUNTIME: i32 = 1;
/// [`ProfileEvent::activity`]: a kernel on a device.
pub const PROFILE_KERNEL: i32 = 2;
/// [`ProfileEvent::activity`]: a copy on or to a device.
pub const PROFILE_MEMCPY: i32 = 3;
/// [`ProfileEvent::activity`]: memory of a device that is filled.
pub const PROFILE_MEMSET: i32 = 4;
/// [`ProfileEvent::activity`]: anything else that Kineto records.
pub const PROFILE_OTHER: i32 = 5;

/// An event of a profiled step.
#[repr(C)]
#[derive(Debug)]
pub struct ProfileEvent {
    /// Its name, without a NUL at its end; lives during the call that shows it.
    pub name: *const c_char,
    /// Bytes of the name.
    pub name_length: usize,
    /// [`PROFILE_OPERATOR`] to [`PROFILE_OTHER`].
    pub activity: i32,
    /// The number of a CUDA device; negative for the host.
    pub device_index: i32,
    /// When it began; only differences mean anything.
    pub start_ns: u64,
    /// How long it took.
    pub duration_ns: u64,
}

unsafe extern "C" {
    /// Calls `step` with `context` once under libtorch's Kineto profiler, then `show` with each event in order of start.
    /// Waits for the device before and after the step. `device_index` is that of a CUDA device, negative for the host alone. Neither call
    /// may unwind.
    pub fn ctn_profile_record(
        device_index: i32,
        step: unsafe extern "C" fn(context: *mut c_void),
        show: unsafe extern "C" fn(context: *mut c_void, event: *const ProfileEvent),
        context: *mut c_void,
    ) -> Status;
}

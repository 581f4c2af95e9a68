//! The memory of a piece of work, whoever hands it out.

use plan::Device;

use super::rust_memory;
use crate::native::memory::{self, DeviceMemory};
use crate::refusal::Refusal;

/// Runs `work` and reports what it took of the device's memory: of libtorch's allocator, and on a CPU of
/// Rust's, where the program counts it ([`rust_memory::Counting`]). The peak is the sum of both peaks,
/// an upper bound if they come at different moments. If Rust's allocations cannot be counted, nothing is
/// reported but the reason; the work is done all the same.
pub fn track<T>(
    device: Device,
    work: impl FnOnce() -> T,
) -> Result<(T, Result<DeviceMemory, String>), Refusal> {
    if device != Device::Cpu {
        return track_libtorch(device, work).map(|(value, memory)| (value, Ok(memory)));
    }
    let (tracked, rust) = rust_memory::track(|| track_libtorch(device, work));
    let (value, libtorch) = tracked?;
    let both = rust.map(|rust| DeviceMemory {
        peak_bytes: libtorch.peak_bytes + rust.peak_bytes,
        live_bytes: libtorch.live_bytes + rust.live_bytes,
        total_bytes: libtorch.total_bytes + rust.total_bytes,
        allocations: libtorch.allocations + rust.allocations,
    });
    Ok((value, both))
}

/// [`track`] without Rust's allocator, also where the program counts it.
pub fn track_libtorch<T>(
    device: Device,
    work: impl FnOnce() -> T,
) -> Result<(T, DeviceMemory), Refusal> {
    let (value, report) = memory::track(work)?;
    Ok((value, if device == Device::Cpu { report.cpu } else { report.cuda }))
}

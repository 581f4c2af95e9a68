//! The memory of a piece of work, whoever hands it out.

use plan::Device;

use super::rust_memory;
use crate::native::memory::{self, DeviceMemory};
use crate::refusal::Refusal;

/// Runs `work` and reports what it took of the device's memory: of libtorch's allocator, and on a CPU of
/// Rust's, where the program counts it ([`rust_memory::Counting`]). The peak is the sum of both peaks,
/// which is more than there ever was where they come at different moments.
///
/// # Errors
/// Where one of them cannot count.
pub fn track<T>(device: Device, work: impl FnOnce() -> T) -> Result<(T, DeviceMemory), Refusal> {
    if device != Device::Cpu {
        let (value, report) = memory::track(work)?;
        return Ok((value, report.cuda));
    }
    let (tracked, rust) =
        rust_memory::track(|| memory::track(work)).map_err(Refusal::Unsupported)?;
    let (value, report) = tracked?;
    let both = DeviceMemory {
        peak_bytes: report.cpu.peak_bytes + rust.peak_bytes,
        live_bytes: report.cpu.live_bytes + rust.live_bytes,
        total_bytes: report.cpu.total_bytes + rust.total_bytes,
        allocations: report.cpu.allocations + rust.allocations,
    };
    Ok((value, both))
}

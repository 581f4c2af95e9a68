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
        let (value, report) = memory::track(work)?;
        return Ok((value, Ok(report.cuda)));
    }
    let (tracked, rust) = rust_memory::track(|| memory::track(work));
    let (value, report) = tracked?;
    let both = rust.map(|rust| DeviceMemory {
        peak_bytes: report.cpu.peak_bytes + rust.peak_bytes,
        live_bytes: report.cpu.live_bytes + rust.live_bytes,
        total_bytes: report.cpu.total_bytes + rust.total_bytes,
        allocations: report.cpu.allocations + rust.allocations,
    });
    Ok((value, both))
}

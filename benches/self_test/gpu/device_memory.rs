//! Allocations of known size, by the harness's count and by the driver's; and one of more memory than
//! the device has: an error that says so, and a device that goes on.

use criterion_torch::measurement::memory::track;
use criterion_torch::native::cuda;
use criterion_torch::native::memory::DeviceMemory;
use criterion_torch::refusal::Refusal;
use tch::{Device, Kind, TchError, Tensor};

use super::{DEVICE, works_on};
use crate::check::{Check, Finding};

pub const CHECK: Check = Check {
    name: "device-memory",
    what: "allocations of known size on the device, as counted and as the driver sees them",
    device: plan::Device::Cuda,
    run,
};

/// Hard on the device: it comes last.
pub const OOM: Check = Check {
    name: "device-oom",
    what: "an allocation of twice the device's memory, and what works after it",
    device: plan::Device::Cuda,
    run: beyond,
};

const MIB: u64 = 1 << 20;
/// libtorch's allocator rounds up to this.
const BLOCK: u64 = 512;
/// libtorch takes at most this much more from the driver than was asked for.
const SLACK: i64 = 32 * MIB as i64;

fn run() -> Result<Vec<Finding>, Refusal> {
    // A cached block that fits nearly is handed out whole.
    cuda::empty_cache()?;
    let odd = MIB + 100;
    let output =
        counted("an output of 1 MiB and 100 bytes", odd.next_multiple_of(BLOCK), 1, || bytes(odd))?;
    let temporaries = counted("temporaries of 2 and 3 MiB at once", 5 * MIB, 2, || {
        Ok((bytes(2 * MIB)?, bytes(3 * MIB)?))
    })?;
    let free = || Ok::<i64, Refusal>(cuda::device(DEVICE)?.free_bytes as i64);
    cuda::empty_cache()?;
    let before = free()?;
    let large = bytes(256 * MIB)?;
    let during = free()?;
    drop(large);
    cuda::empty_cache()?;
    Ok([output, temporaries].into_iter().chain(driver([before, during, free()?])).collect())
}

fn bytes(count: u64) -> Result<Tensor, TchError> {
    Tensor::f_empty([count as i64], (Kind::Uint8, Device::Cuda(DEVICE)))
}

/// `expected` bytes at most and in all, which are the same here, in so many allocations.
fn counted<T>(
    name: &str,
    expected: u64,
    allocations: u64,
    work: impl FnOnce() -> Result<T, TchError>,
) -> Result<Finding, Refusal> {
    let (made, counted) = track(plan::Device::Cuda, work)?;
    drop(made?);
    Ok(judge(name, &counted.map_err(Refusal::Failed)?, expected, allocations))
}

/// Whether the count is what libtorch's allocator takes for these bytes.
pub fn judge(name: &str, found: &DeviceMemory, bytes: u64, allocations: u64) -> Finding {
    let said = |[peak, total, allocations]: [u64; 3]| {
        format!("{peak} bytes at most, {total} in all, {allocations} allocations")
    };
    let found = [found.peak_bytes, found.total_bytes, found.allocations];
    let expected = [bytes, bytes, allocations];
    Finding::new(
        name,
        said(found),
        format!("{} (each rounded up to {BLOCK} bytes)", said(expected)),
        found == expected,
    )
}

/// The driver's free bytes before an allocation of 256 MiB, with it, and after it was given back.
pub fn driver([before, during, after]: [i64; 3]) -> [Finding; 2] {
    let mib = |bytes: i64| bytes as f64 / MIB as f64;
    let (fell, left) = (before - during, before - after);
    [
        Finding::new(
            "free memory, by the driver, with 256 MiB allocated",
            format!("{:.1} MiB less, of {:.0} MiB before", mib(fell), mib(before)),
            "256 MiB less ± 32 MiB, where no other process allocates meanwhile",
            (fell - 256 * MIB as i64).abs() <= SLACK,
        ),
        Finding::new(
            "free memory, by the driver, after the cache was emptied",
            format!("{:.1} MiB less than before", mib(left)),
            "0 MiB less ± 32 MiB, where no other process allocates meanwhile",
            left.abs() <= SLACK,
        ),
    ]
}

fn beyond() -> Result<Vec<Finding>, Refusal> {
    // libtorch asks the driver for a multiple of 2 MiB, and names that.
    let bytes = (2 * cuda::device(DEVICE)?.total_bytes).next_multiple_of(2 << 20);
    let allocate = |bytes: u64| -> Result<(), Refusal> {
        drop(Tensor::f_empty([bytes as i64], (Kind::Uint8, Device::Cuda(DEVICE)))?);
        Ok(cuda::synchronize(DEVICE)?)
    };
    let refused = judge_refusal(bytes, allocate(bytes).err());
    let small = match allocate(1 << 20) {
        Ok(()) => Finding::new("1 MiB afterwards", "allocated", "allocated", true),
        Err(error) => Finding::error("1 MiB afterwards", error),
    };
    cuda::empty_cache()?;
    Ok(vec![refused, small, works_on().prefixed("afterwards")])
}

/// Whether an allocation of so many bytes was refused as it should be.
pub fn judge_refusal(bytes: u64, refusal: Option<Refusal>) -> Finding {
    let asked = format!("Tried to allocate {:.2} GiB", bytes as f64 / (1_u64 << 30) as f64);
    let capacity = "total capacity of";
    let is_named = |text: &str| text.contains(&asked) && text.contains(capacity);
    Finding::new(
        "twice the device's memory",
        refusal.as_ref().map_or_else(|| "allocated".to_owned(), Refusal::to_string),
        format!("out of memory, with `{asked}` and `{capacity}`"),
        matches!(&refusal, Some(Refusal::Oom(text)) if is_named(text)),
    )
}

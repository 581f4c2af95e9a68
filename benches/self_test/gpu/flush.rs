//! Cold samples: what lies in the L2 is read faster than memory, unless it was flushed.

use criterion_torch::harness::self_test::step_times;
use criterion_torch::native::cuda;
use criterion_torch::refusal::Refusal;
use tch::{Device, Kind, Tensor};

use super::{DEVICE, micros};
use crate::check::{Check, Finding};

pub const CHECK: Check = Check {
    name: "flush",
    what: "a copy that takes half the L2, cold and hot, against a copy of 1 GiB",
    device: plan::Device::Cuda,
    run,
};

/// The least ratio of a cold copy's time to a hot one's.
const LONGER: f64 = 1.2;
/// The largest ratio of a cold copy's bandwidth to that of memory.
const FASTER: f64 = 1.1;
const GIB: u64 = 1 << 30;

fn run() -> Result<Vec<Finding>, Refusal> {
    let l2 = cuda::device(DEVICE)?.l2_bytes;
    // Half of it is read and half is written.
    let bytes = l2 / 4;
    if bytes == 0 {
        let reason = "the driver does not tell the size of the L2";
        return Err(Refusal::Skipped(reason.to_owned()));
    }
    let [cold_ns, hot_ns] = [copy(bytes, true)?, copy(bytes, false)?];
    let times = Times { l2, bytes, cold_ns, hot_ns, gib_ns: copy(GIB, false)? };
    Ok(Vec::from(judge(&times)))
}

/// Device time of a copy of so many bytes, in samples of one: in longer ones, the cost of an event
/// would be shared by many hot steps, and hot copies would be faster for that alone.
fn copy(bytes: u64, cold: bool) -> Result<f64, Refusal> {
    let buffer = || -> Result<Tensor, Refusal> {
        let options = (Kind::Uint8, Device::Cuda(DEVICE));
        Ok(Tensor::f_zeros([bytes as i64], options)?)
    };
    let (from, mut to) = (buffer()?, buffer()?);
    Ok(step_times(DEVICE, cold, 1, &mut || Ok(to.f_copy_(&from)?))?.hidden_ns)
}

/// Bytes of the L2 and of the small copy, and the times of copies.
pub struct Times {
    pub l2: u64,
    pub bytes: u64,
    pub cold_ns: f64,
    pub hot_ns: f64,
    pub gib_ns: f64,
}

/// Whether the small copy found an empty cache when it was to.
pub fn judge(times: &Times) -> [Finding; 2] {
    let Times { l2, bytes, cold_ns, hot_ns, gib_ns } = *times;
    // Read and written.
    let bandwidth = |bytes: u64, ns: f64| 2.0 * bytes as f64 / ns;
    let (cold, memory) = (bandwidth(bytes, cold_ns), bandwidth(GIB, gib_ns));
    let measured = format!(
        "{} cold ({cold:.0} GB/s), {} hot ({:.0} GB/s), 1 GiB {} ({memory:.0} GB/s); L2 {:.1} MiB, \
         copied {:.1} MiB",
        micros(cold_ns),
        micros(hot_ns),
        bandwidth(bytes, hot_ns),
        micros(gib_ns),
        l2 as f64 / 1048576.0,
        bytes as f64 / 1048576.0,
    );
    [
        Finding::new(
            "a cold copy against a hot one",
            &measured,
            format!("cold at least {LONGER} times hot"),
            cold_ns >= LONGER * hot_ns,
        ),
        Finding::new(
            "a cold copy against one of 1 GiB",
            measured,
            format!("bytes per second at most {FASTER} times those of 1 GiB"),
            cold <= FASTER * memory,
        ),
    ]
}

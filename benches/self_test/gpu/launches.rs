//! A GPU kernel of known duration under the device's clock; and a step that is cheaper than its launch,
//! whose time on the host is hidden from the device's.

use criterion_torch::harness::cuda_device::peak_khz;
use criterion_torch::harness::self_test::{StepTimes, self_test, step_times};
use criterion_torch::measurement::nvml;
use criterion_torch::native::cuda;
use criterion_torch::refusal::Refusal;
use tch::{Device, Kind, Tensor};

use super::{DEVICE, micros};
use crate::check::{Check, Finding};

pub const DEVICE_CHECK: Check = Check {
    name: "device",
    what: "a CUDA kernel of known duration, by events",
    device: plan::Device::Cuda,
    run: known,
};

pub const CHECK: Check = Check {
    name: "launches",
    what: "an addition of 16 floats, with its launches open and hidden",
    device: plan::Device::Cuda,
    run,
};

/// The largest relative difference between the open time and that of the slower side.
const OPEN: f64 = 0.3;

fn known() -> Result<Vec<Finding>, Refusal> {
    let found = self_test(DEVICE)?;
    Ok(vec![Finding::new(
        "kernel of known duration",
        format!(
            "{} between events, {} with launches hidden, {} by the host",
            micros(found.measured_ns),
            micros(found.hidden_ns),
            micros(found.host_ns)
        ),
        format!("{}, all within 5 %", micros(found.expected_ns)),
        found.error() <= 0.05,
    )])
}

fn run() -> Result<Vec<Finding>, Refusal> {
    let x = Tensor::f_ones([16], (Kind::Float, Device::Cuda(DEVICE)))?;
    let times = step_times(DEVICE, false, u64::MAX, &mut || Ok(x.f_add(&x)?))?;
    let mut found = Vec::from(judge(&times));
    found.push(clocks()?);
    Ok(found)
}

/// Whether the host was hidden, and seen where it was not.
pub fn judge(times: &StepTimes) -> [Finding; 3] {
    let StepTimes { queue_ns, open_ns, hidden_ns, steps, samples, late } = *times;
    let expected = queue_ns.max(hidden_ns);
    let measured = format!(
        "{} open, {} hidden, {} to queue, in samples of {steps}",
        micros(open_ns),
        micros(hidden_ns),
        micros(queue_ns)
    );
    [
        Finding::new(
            "samples with hidden launches",
            format!("{late} of {samples} late"),
            "none: the sleep outlasts the queueing of a round",
            late == 0,
        ),
        Finding::new(
            "device time of a step",
            &measured,
            "hidden at most as long as open",
            hidden_ns <= open_ns,
        ),
        Finding::new(
            "device time of an open step",
            measured,
            format!(
                "{} ± {:.0} %, the longer of queueing and hidden",
                micros(expected),
                OPEN * 1e2
            ),
            (open_ns / expected - 1.0).abs() <= OPEN,
        ),
    ]
}

/// The clock that a sleep's length is counted by: a device above it would wake up early.
fn clocks() -> Result<Finding, Refusal> {
    let rated = cuda::device(DEVICE)?.clock_khz as f64 / 1e3;
    let most = nvml::open(DEVICE).and_then(|probe| probe.max_clock_mhz());
    let used = peak_khz(DEVICE)? as f64 / 1e3;
    let (named, least) = match &most {
        Ok(most) => (format!("{most} MHz by NVML"), most.max(rated)),
        Err(reason) => (format!("none by NVML ({reason})"), rated),
    };
    Ok(Finding::new(
        "highest clock",
        format!("{rated} MHz rated, {named}, {used} MHz used"),
        "the higher of the two is used",
        used >= least && used > 0.0,
    ))
}

//! Power over a short and a long window of the same work.

use std::time::Duration;

use criterion_torch::harness::clock::Stopwatch;
use criterion_torch::measurement::energy::{EnergyCounter, Time, measure};
use criterion_torch::measurement::nvml;
use criterion_torch::native::cuda;
use criterion_torch::refusal::Refusal;
use plan::{Energy, EnergyPass};
use tch::{Device, Kind, Tensor};

use super::DEVICE;
use crate::check::{Check, Finding};

pub const CHECK: Check = Check {
    name: "energy",
    what: "watts of the same matrix products over windows of 1 s and of 10 s",
    device: plan::Device::Cuda,
    run,
};

/// Seconds of work before the first window: power rises with the clocks, and with heat.
const WARM_UP_S: f64 = 2.0;
/// Steps between two looks at the counter.
const BATCH: u64 = 4;
const APART: f64 = 0.05;

fn run() -> Result<Vec<Finding>, Refusal> {
    let mut probe = nvml::open(DEVICE).map_err(Refusal::Skipped)?;
    probe.joules().map_err(Refusal::Skipped)?;
    let x = Tensor::f_ones([4096, 4096], (Kind::Float, Device::Cuda(DEVICE)))?;
    let wall = Stopwatch::start();
    let mut batch = || {
        for _ in 0..BATCH {
            drop(x.f_matmul(&x)?);
        }
        cuda::synchronize(DEVICE)?;
        Ok(BATCH)
    };
    while wall.seconds() < WARM_UP_S {
        batch()?;
    }
    let mut window = |window_s| {
        let settings = EnergyPass { window_s, ..EnergyPass::default() };
        let time = Time {
            clock: &mut || wall.seconds(),
            idle: &mut |seconds| std::thread::sleep(Duration::from_secs_f64(seconds)),
        };
        measure(&mut probe, settings, time, &mut batch)?.map_err(Refusal::Failed)
    };
    let (short, long) = (window(1.0)?, window(10.0)?);
    let slowed = match probe.slow_downs() {
        Ok(reasons) if reasons.is_empty() => "not slowed down".to_owned(),
        Ok(reasons) => format!("slowed down by {}", reasons.join(", ")),
        Err(reason) => reason,
    };
    Ok(vec![judge(&short, &long, &slowed)])
}

/// Whether both windows found the same power.
pub fn judge(short: &Energy, long: &Energy, slowed: &str) -> Finding {
    let said = |energy: &Energy| {
        let Energy { watts, joules, window_s, iters, .. } = energy;
        format!("{watts:.1} W over {window_s:.2} s ({iters} steps of {joules:.4} J)")
    };
    Finding::new(
        "watts of a product of 4096x4096 floats",
        format!("{}, {}; {slowed}; {}", said(short), said(long), long.method),
        format!("above 0 and within {:.0} % of each other", APART * 100.0),
        long.watts > 0.0 && (short.watts / long.watts - 1.0).abs() <= APART,
    )
}

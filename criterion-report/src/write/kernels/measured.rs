//! What a case measured, in upstream's units: ms, MiB, J.

use serde::Serialize;

use crate::model::kernels::KernelResult;
use crate::model::{Entry, Levels, NoSpeedup, Time};
use crate::write::verdict;

const NS_PER_MS: f64 = 1e6;
const MIB: f64 = (1 << 20) as f64;

/// Single calls, each timed by itself.
#[derive(Serialize)]
pub struct Timing {
    latency_ms_p50: f64,
    latency_ms_p90: Option<f64>,
    latency_ms_p99: Option<f64>,
    latency_ms_mean: f64,
    latency_ms_std: Option<f64>,
    throughput_ops_per_sec: f64,
    iterations: u64,
    latency_ms_max: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_times_ms: Option<Option<Vec<f64>>>,
}

impl Timing {
    /// With every call where `raw`.
    pub fn of(result: &KernelResult<'_>, raw: bool) -> Option<Self> {
        let latency = result.latency()?;
        let calls = &result.measured()?.measures.calls_ns;
        let ms = |ns: f64| ns / NS_PER_MS;
        Some(Self {
            latency_ms_p50: ms(latency.p50_ns),
            latency_ms_p90: latency.p90_ns.map(ms),
            latency_ms_p99: latency.p99_ns.map(ms),
            latency_ms_mean: ms(latency.mean_ns),
            latency_ms_std: result.latency_std_ns().map(ms),
            throughput_ops_per_sec: 1e9 / latency.mean_ns,
            iterations: latency.calls,
            latency_ms_max: ms(latency.max_ns),
            raw_times_ms: raw.then(|| {
                let kept = !calls.is_empty();
                kept.then(|| calls.iter().map(|&ns| ns as f64 / NS_PER_MS).collect())
            }),
        })
    }
}

/// Memory of a step.
#[derive(Serialize)]
pub struct Memory {
    peak_mb: f64,
    allocated_mb: f64,
    reserved_mb: Option<f64>,
    step_peak_mb: f64,
    step_allocations: u64,
}

impl Memory {
    pub fn of(result: &KernelResult<'_>) -> Option<Self> {
        let memory = result.measured()?.measures.memory?;
        let mib = |bytes: u64| bytes as f64 / MIB;
        Some(Self {
            peak_mb: mib(memory.peak_bytes()),
            allocated_mb: mib(memory.peak_bytes() - memory.step.peak_bytes),
            reserved_mb: None,
            step_peak_mb: mib(memory.step.peak_bytes),
            step_allocations: memory.step.allocations,
        })
    }
}

/// Energy of a step.
#[derive(Serialize)]
pub struct Energy<'a> {
    energy_j: f64,
    power_w: f64,
    duration_s: f64,
    idle_w: Option<f64>,
    idle_subtracted: bool,
    window_s: f64,
    window_iterations: u64,
    method: &'a str,
}

impl<'a> Energy<'a> {
    pub fn of(result: &KernelResult<'a>) -> Option<Self> {
        let energy = result.measured()?.measures.energy.as_ref()?;
        Some(Self {
            energy_j: energy.joules,
            power_w: energy.watts,
            duration_s: energy.window_s / energy.iters as f64,
            idle_w: energy.idle_watts,
            idle_subtracted: energy.idle_subtracted,
            window_s: energy.window_s,
            window_iterations: energy.iters,
            method: &energy.method,
        })
    }
}

/// Criterion's estimate of a step.
#[derive(Serialize)]
pub struct Criterion {
    median_ms: f64,
    low_ms: Option<f64>,
    high_ms: Option<f64>,
    confidence_level: f64,
    mean_ms: f64,
    std_dev_ms: f64,
    samples: usize,
    quick: bool,
}

impl Criterion {
    pub fn of(time: &Time) -> Self {
        let interval = time.interval;
        Self {
            median_ms: time.median_ns / NS_PER_MS,
            low_ms: interval.map(|interval| interval.low / NS_PER_MS),
            high_ms: interval.map(|interval| interval.high / NS_PER_MS),
            confidence_level: time.confidence_level,
            mean_ms: time.mean_ns / NS_PER_MS,
            std_dev_ms: time.std_dev_ns / NS_PER_MS,
            samples: time.samples,
            quick: time.quick,
        }
    }
}

/// How many times faster it is than the baseline of its group.
#[derive(Serialize)]
pub struct Versus<'a> {
    ratio: f64,
    low: f64,
    high: f64,
    confidence_level: f64,
    blocks: usize,
    #[serde(flatten)]
    levels: Levels,
    verdict: &'static str,
    over: Option<&'a str>,
}

impl<'a> Versus<'a> {
    pub fn of(entry: Entry<'a>) -> Option<Self> {
        let speedup = entry.comparison?.speedup.as_ref().ok()?;
        Some(Self {
            ratio: speedup.ratio,
            low: speedup.interval.low,
            high: speedup.interval.high,
            confidence_level: speedup.confidence_level,
            blocks: speedup.blocks,
            levels: speedup.levels,
            verdict: verdict::word(speedup.verdict()),
            over: entry.baseline.map(|row| row.full_id()),
        })
    }

    /// Why a measured case has none.
    pub fn why_not(entry: Entry<'a>) -> Option<String> {
        match entry.comparison.map(|comparison| &comparison.speedup) {
            None => {
                let is_measured = entry.row.record.outcome == plan::Outcome::Measured;
                is_measured.then(|| "the others are compared with it".to_owned())
            }
            Some(Err(NoSpeedup::NotMeasured) | Ok(_)) => None,
            Some(Err(why)) => Some(why.to_string()),
        }
    }
}

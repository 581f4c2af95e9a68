//! A result: one variant at one size.

use plan::{
    Accuracy, Compilation, CompileMode, Dtype, FusionShape, FusionVariant, Outcome, Pattern,
    StepMemory,
};
use serde::Serialize;
use serde_json::{Map, Value};
use statistics::Band;

use crate::model::{Caution, FusionResult, Levels, Row, Side};
use crate::write::place::Where;

/// One variant at one size.
#[derive(Serialize)]
pub(super) struct Entry<'a> {
    #[serde(flatten)]
    upstream: Upstream,
    #[serde(flatten)]
    pair: Pair,
    #[serde(flatten)]
    key: Key<'a>,
    #[serde(flatten)]
    outcome: Ended<'a>,
    #[serde(flatten)]
    times: Times,
    #[serde(flatten)]
    memory: Memory,
    #[serde(flatten)]
    checked: Checked<'a>,
}

impl<'a> Entry<'a> {
    pub(super) fn of(result: &'a FusionResult<'a>) -> serde_json::Result<Self> {
        Ok(Self {
            upstream: Upstream::of(result)?,
            pair: Pair::of(result),
            key: Key::of(result),
            outcome: Ended::of(result),
            times: Times::of(result),
            memory: Memory::of(result),
            checked: Checked::of(result),
        })
    }
}

/// Every key of upstream's dictionary, in its order.
#[derive(Serialize)]
struct Upstream {
    fusion_pattern: &'static str,
    input_shape: Vec<u64>,
    output_shape: Vec<u64>,
    kernel_size: Option<u64>,
    unfused_latency_ms: Option<f64>,
    fused_latency_ms: Option<f64>,
    unfused_gflops: Option<f64>,
    fused_gflops: Option<f64>,
    unfused_bytes: Option<u64>,
    fused_bytes: Option<u64>,
    speedup_factor: Option<f64>,
    memory_reduction: Option<f64>,
    flops: u64,
    gflops_improvement: Option<f64>,
    extra_params: Map<String, Value>,
}

impl Upstream {
    fn of(result: &FusionResult<'_>) -> serde_json::Result<Self> {
        let work = result.work();
        let ms = |side: &Side<'_>| side.time().map(|time| time.median_ns / 1e6);
        let kernel = |size| matches!(size, FusionShape::Conv { .. });
        Ok(Self {
            fusion_pattern: work.pattern.upstream(),
            input_shape: work.input_shape(),
            output_shape: work.output_shape(),
            kernel_size: kernel(work.size).then_some(plan::fusion::KERNEL_SIZE),
            unfused_latency_ms: ms(&result.unfused),
            fused_latency_ms: ms(&result.fused),
            unfused_gflops: result.unfused.gflop_per_s(),
            fused_gflops: result.fused.gflop_per_s(),
            unfused_bytes: result.unfused.upstream_bytes,
            fused_bytes: result.fused.upstream_bytes,
            speedup_factor: result.speedup.as_ref().ok().map(|speedup| speedup.ratio),
            memory_reduction: result.memory_reduction(),
            flops: result.flops,
            gflops_improvement: result.gflops_improvement(),
            extra_params: dimensions(work.size)?,
        })
    }
}

/// The dimensions of a size by name, without the name of its family.
fn dimensions(size: FusionShape) -> serde_json::Result<Map<String, Value>> {
    let family: Map<String, Value> = serde_json::from_value(serde_json::to_value(size)?)?;
    family.into_iter().next().map_or_else(|| Ok(Map::new()), |(_, of)| serde_json::from_value(of))
}

/// The speed-up, and what it lets one say.
#[derive(Serialize)]
struct Pair {
    no_speedup_reason: Option<String>,
    speedup_low: Option<f64>,
    speedup_high: Option<f64>,
    confidence_level: Option<f64>,
    blocks: Option<usize>,
    #[serde(flatten)]
    levels: Levels,
    benefit: Option<String>,
    lowest_band: Option<&'static str>,
    highest_band: Option<&'static str>,
}

impl Pair {
    fn of(result: &FusionResult<'_>) -> Self {
        let speedup = result.speedup.as_ref().ok();
        let benefit = result.benefit();
        Self {
            no_speedup_reason: result.speedup.as_ref().err().map(ToString::to_string),
            speedup_low: speedup.map(|speedup| speedup.interval.low),
            speedup_high: speedup.map(|speedup| speedup.interval.high),
            confidence_level: speedup.map(|speedup| speedup.confidence_level),
            blocks: speedup.map(|speedup| speedup.blocks),
            levels: speedup.map(|speedup| speedup.levels).unwrap_or_default(),
            benefit: benefit.map(|benefit| benefit.to_string()),
            lowest_band: benefit.map(|benefit| benefit.lowest()).map(Band::word),
            highest_band: benefit.map(|benefit| benefit.highest()).map(Band::word),
        }
    }
}

/// What the result is of.
#[derive(Serialize)]
struct Key<'a> {
    full_id: &'a str,
    config: &'a str,
    pattern: Pattern,
    variant: FusionVariant,
    compile: Option<CompileMode>,
    fuses: Option<bool>,
    same_product: Option<bool>,
    size: String,
    dtype: Dtype,
    #[serde(flatten)]
    place: Where<'a>,
}

impl<'a> Key<'a> {
    fn of(result: &'a FusionResult<'a>) -> Self {
        Self {
            full_id: result.row.full_id(),
            config: &result.row.record.case.config,
            pattern: result.key.pattern,
            variant: result.key.variant,
            compile: result.key.compile,
            fuses: result.fuses(),
            same_product: result.same_product(),
            size: result.key.size.to_string(),
            dtype: result.key.dtype,
            place: Where::of(&result.key.place),
        }
    }
}

/// How both sides ended.
#[derive(Serialize)]
struct Ended<'a> {
    outcome: &'static str,
    reason: Option<String>,
    unfused_outcome: Option<&'static str>,
    unfused_reason: Option<String>,
    run_id: &'a str,
    timestamp: u64,
}

impl<'a> Ended<'a> {
    fn of(result: &FusionResult<'a>) -> Self {
        let status = |outcome: &Outcome| outcome.status();
        let record = &result.row.record;
        let unfused = result.unfused.row;
        Self {
            outcome: status(&record.outcome),
            reason: result.row.reason(),
            unfused_outcome: unfused.map(|row| status(&row.record.outcome)),
            unfused_reason: match unfused {
                Some(row) => row.reason(),
                None => Some("it has no record".to_owned()),
            },
            run_id: &record.run_id,
            timestamp: record.timestamp,
        }
    }
}

/// Intervals of the two medians.
#[derive(Serialize)]
struct Times {
    unfused_latency_low_ms: Option<f64>,
    unfused_latency_high_ms: Option<f64>,
    fused_latency_low_ms: Option<f64>,
    fused_latency_high_ms: Option<f64>,
}

impl Times {
    fn of(result: &FusionResult<'_>) -> Self {
        let interval = |side: &Side<'_>| side.time().and_then(|time| time.interval);
        let (unfused, fused) = (interval(&result.unfused), interval(&result.fused));
        Self {
            unfused_latency_low_ms: unfused.map(|interval| interval.low / 1e6),
            unfused_latency_high_ms: unfused.map(|interval| interval.high / 1e6),
            fused_latency_low_ms: fused.map(|interval| interval.low / 1e6),
            fused_latency_high_ms: fused.map(|interval| interval.high / 1e6),
        }
    }
}

/// Bytes in the consistent accounting, by formula; what was allocated, measured.
#[derive(Serialize)]
struct Memory {
    unfused_consistent_bytes: Option<u64>,
    fused_consistent_bytes: Option<u64>,
    consistent_reduction: Option<f64>,
    unfused_peak_allocation_bytes: Option<u64>,
    fused_peak_allocation_bytes: Option<u64>,
    peak_allocation_reduction: Option<f64>,
    unfused_total_allocation_bytes: Option<u64>,
    fused_total_allocation_bytes: Option<u64>,
    total_allocation_reduction: Option<f64>,
}

impl Memory {
    fn of(result: &FusionResult<'_>) -> Self {
        let (unfused, fused) = (result.unfused.allocated(), result.fused.allocated());
        let peak = |step: Option<StepMemory>| step.map(|step| step.peak_bytes);
        let total = |step: Option<StepMemory>| step.map(|step| step.total_bytes);
        Self {
            unfused_consistent_bytes: result.unfused.consistent_bytes,
            fused_consistent_bytes: result.fused.consistent_bytes,
            consistent_reduction: result.consistent_reduction(),
            unfused_peak_allocation_bytes: peak(unfused),
            fused_peak_allocation_bytes: peak(fused),
            peak_allocation_reduction: result.peak_allocation_reduction(),
            unfused_total_allocation_bytes: total(unfused),
            fused_total_allocation_bytes: total(fused),
            total_allocation_reduction: result.total_allocation_reduction(),
        }
    }
}

/// What ran, how exact it was, and what qualifies the numbers.
#[derive(Serialize)]
struct Checked<'a> {
    unfused_kernels: Option<&'a [String]>,
    fused_kernels: &'a [String],
    compilation: Option<&'a Compilation>,
    unfused_accuracy: Option<&'a Accuracy>,
    fused_accuracy: Option<&'a Accuracy>,
    unfused_cautions: Vec<Caution>,
    cautions: &'a [Caution],
}

impl<'a> Checked<'a> {
    fn of(result: &'a FusionResult<'a>) -> Self {
        let unfused = result.unfused.row.map(|row| &row.record);
        let fused = &result.row.record;
        Self {
            unfused_kernels: unfused.map(|record| record.kernels.as_slice()),
            fused_kernels: &fused.kernels,
            compilation: fused.compilation.as_ref(),
            unfused_accuracy: unfused.and_then(|record| record.accuracy.as_ref()),
            fused_accuracy: fused.accuracy.as_ref(),
            unfused_cautions: result.unfused.row.map(Row::cautions).unwrap_or_default(),
            cautions: &result.cautions,
        }
    }
}

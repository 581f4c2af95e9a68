//! What was measured of a case, by parts: each is flat in the object.

use plan::{Agreement, Compilation, Gate};
use serde::Serialize;

use crate::model::{Caution, EfficiencySource, Levels, OperatorResult, Standing};
use crate::write::verdict;

/// Its speed.
#[derive(Default, Serialize)]
pub struct Speed {
    time_low_ms: Option<f64>,
    time_high_ms: Option<f64>,
    time_confidence_level: Option<f64>,
    samples: Option<usize>,
    quick: Option<bool>,
    calls_per_s: Option<f64>,
    elements_per_s: Option<f64>,
    gb_per_s: Option<f64>,
    gflop_per_s: Option<f64>,
    bytes: Option<u64>,
    flops: Option<u64>,
    standing: Option<&'static str>,
}

impl Speed {
    pub fn of(result: &OperatorResult<'_>) -> Self {
        let time = result.row.time.as_ref().ok();
        let interval = time.and_then(|time| time.interval);
        Self {
            time_low_ms: interval.map(|interval| interval.low / 1e6),
            time_high_ms: interval.map(|interval| interval.high / 1e6),
            time_confidence_level: interval.and(time).map(|time| time.confidence_level),
            samples: time.map(|time| time.samples),
            quick: time.map(|time| time.quick),
            calls_per_s: result.row.steps_per_s(),
            elements_per_s: result.elements_per_s(),
            gb_per_s: result.row.gb_per_s(),
            gflop_per_s: result.row.gflop_per_s(),
            bytes: result.bytes(),
            flops: result.row.flops(),
            standing: result.standing.map(Standing::word),
        }
    }
}

/// What the machine lets it be at most, and how near it comes.
#[derive(Default, Serialize)]
pub struct Limit<'a> {
    gpu_efficiency_low: Option<f64>,
    gpu_efficiency_high: Option<f64>,
    efficiency_source: Option<&'static str>,
    efficiency_method: Option<&'static str>,
    limit_gb_per_s: Option<f64>,
    limit_level: Option<&'a str>,
    limit_operation: Option<&'a str>,
    no_efficiency_reason: Option<String>,
}

impl<'a> Limit<'a> {
    pub fn of(result: &'a OperatorResult<'a>) -> Self {
        let efficiency = result.efficiency.as_ref().ok();
        let interval = efficiency.and_then(|efficiency| efficiency.interval);
        let source = efficiency.map(|efficiency| &efficiency.source);
        let ceiling = match source {
            Some(EfficiencySource::Calibration(ceiling)) => Some(ceiling),
            _ => None,
        };
        Self {
            gpu_efficiency_low: interval.map(|interval| interval.low * 100.0),
            gpu_efficiency_high: interval.map(|interval| interval.high * 100.0),
            efficiency_source: source.map(EfficiencySource::word),
            efficiency_method: source.and_then(EfficiencySource::method),
            limit_gb_per_s: ceiling.map(|ceiling| ceiling.gb_per_s),
            limit_level: ceiling.map(|ceiling| ceiling.level.as_str()),
            limit_operation: ceiling.map(|ceiling| ceiling.operation.as_str()),
            no_efficiency_reason: result.efficiency.as_ref().err().map(ToString::to_string),
        }
    }
}

/// How busy the GPU was meanwhile, as NVML tells: in percent, as `gpu_efficiency` is.
#[derive(Default, Serialize)]
pub struct InUse<'a> {
    sm_utilization: Option<f64>,
    memory_utilization: Option<f64>,
    utilization_samples: Option<u64>,
    no_utilization_reason: Option<&'a str>,
}

impl<'a> InUse<'a> {
    pub fn of(result: &'a OperatorResult<'a>) -> Self {
        let measures = &result.row.record.measures;
        let utilization = measures.utilization.as_ref();
        Self {
            sm_utilization: utilization.map(|it| it.sm.median * 100.0),
            memory_utilization: utilization.map(|it| it.memory.median * 100.0),
            utilization_samples: utilization.map(|it| it.samples),
            no_utilization_reason: measures.absent.get("utilization").map(String::as_str),
        }
    }
}

/// Its speed-up over `aten`.
#[derive(Default, Serialize)]
pub struct Versus {
    speedup: Option<f64>,
    speedup_low: Option<f64>,
    speedup_high: Option<f64>,
    speedup_confidence_level: Option<f64>,
    blocks: Option<usize>,
    #[serde(flatten)]
    levels: Levels,
    verdict: Option<&'static str>,
    no_speedup_reason: Option<String>,
}

impl Versus {
    pub fn of(result: &OperatorResult<'_>) -> Self {
        let speedup = result.speedup.as_ref().and_then(|speedup| speedup.as_ref().ok());
        let no_speedup_reason = match &result.speedup {
            None => Some("the others are compared with it".to_owned()),
            Some(speedup) => speedup.as_ref().err().map(ToString::to_string),
        };
        Self {
            speedup: speedup.map(|speedup| speedup.ratio),
            speedup_low: speedup.map(|speedup| speedup.interval.low),
            speedup_high: speedup.map(|speedup| speedup.interval.high),
            speedup_confidence_level: speedup.map(|speedup| speedup.confidence_level),
            blocks: speedup.map(|speedup| speedup.blocks),
            levels: speedup.map(|speedup| speedup.levels).unwrap_or_default(),
            verdict: speedup.map(|speedup| verdict::word(speedup.verdict())),
            no_speedup_reason,
        }
    }
}

/// How it was compiled, and what that gained; of what is not, nothing.
#[derive(Default, Serialize)]
pub struct Compiled<'a> {
    speedup_over_eager: Option<f64>,
    speedup_over_eager_low: Option<f64>,
    speedup_over_eager_high: Option<f64>,
    speedup_over_eager_source: Option<&'static str>,
    no_speedup_over_eager_reason: Option<String>,
    compilation: Option<&'a Compilation>,
    eager_agreement: Option<Agreement>,
}

impl<'a> Compiled<'a> {
    pub fn of(result: &'a OperatorResult<'a>) -> Self {
        let gain = result.over_eager.as_ref();
        let known = gain.and_then(|gain| gain.as_ref().ok());
        let record = &result.row.record;
        Self {
            speedup_over_eager: known.map(|gain| gain.ratio),
            speedup_over_eager_low: known.map(|gain| gain.interval.low),
            speedup_over_eager_high: known.map(|gain| gain.interval.high),
            speedup_over_eager_source: known.map(|gain| gain.source.word()),
            no_speedup_over_eager_reason: gain
                .and_then(|gain| gain.as_ref().err())
                .map(ToString::to_string),
            compilation: record.compilation.as_ref(),
            eager_agreement: record.accuracy.as_ref().and_then(|accuracy| accuracy.eager),
        }
    }
}

/// Its memory.
#[derive(Default, Serialize)]
pub struct Memory {
    peak_bytes: Option<u64>,
    step_peak_bytes: Option<u64>,
    step_total_bytes: Option<u64>,
    step_allocations: Option<u64>,
    peak_reduction: Option<f64>,
}

impl Memory {
    pub fn of(result: &OperatorResult<'_>) -> Self {
        let memory = result.row.record.measures.memory;
        Self {
            peak_bytes: memory.map(|memory| memory.peak_bytes()),
            step_peak_bytes: memory.map(|memory| memory.step.peak_bytes),
            step_total_bytes: memory.map(|memory| memory.step.total_bytes),
            step_allocations: memory.map(|memory| memory.step.allocations),
            peak_reduction: result.peak_reduction,
        }
    }
}

/// What ran, how exact it was, and what qualifies the numbers.
#[derive(Default, Serialize)]
pub struct Checked<'a> {
    sqnr_db: Option<plan::Stat>,
    max_abs_error: Option<plan::Stat>,
    gates: Option<usize>,
    worst_gate: Option<plan::Stat>,
    worst_gate_inputs: Option<&'a str>,
    worst_gate_size: Option<&'a [u64]>,
    kernels: &'a [String],
    cautions: &'a [Caution],
}

impl<'a> Checked<'a> {
    pub fn of(result: &'a OperatorResult<'a>) -> Self {
        let record = &result.row.record;
        let accuracy = record.accuracy.as_ref();
        let worst: Option<&Gate> = result.row.worst_gate();
        Self {
            sqnr_db: accuracy.map(|accuracy| accuracy.sqnr_db),
            max_abs_error: accuracy.map(|accuracy| accuracy.max_abs_error),
            gates: accuracy.map(|accuracy| accuracy.gates.len()),
            worst_gate: worst.map(|gate| gate.worst),
            worst_gate_inputs: worst.map(|gate| gate.inputs.as_str()),
            worst_gate_size: worst.map(|gate| gate.size.as_slice()),
            kernels: &record.kernels,
            cautions: &result.cautions,
        }
    }
}

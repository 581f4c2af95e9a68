//! The metrics of the default form: every number of a case, under the names that dashboards know.

use std::borrow::Cow;

use plan::{Case, Dtype, Mode, Outcome, Pass, Work};

use super::record::{Info, Metric, Name};
use crate::model::{Entry, Field, Gain, GainSource, Interval, Time};

/// One number, with its interval where it has one.
fn metric<'a>(
    whose: impl Into<Cow<'a, str>>,
    what: &'static str,
    unit: &'static str,
    value: f64,
    interval: Option<(Interval, f64)>,
) -> Metric<'a> {
    let mut info = Info::default();
    info.push("unit", Some(unit));
    if let Some((Interval { low, high }, level)) = interval {
        info.push("ci_low", Some(low));
        info.push("ci_high", Some(high));
        info.push("confidence_level", Some(level));
    }
    let name = Name(whose.into(), what);
    Metric { name, benchmark_values: [value], target_value: 0.0, extra_info: Some(info) }
}

fn speedup(pass: &'static str, what: &'static str, gain: &Gain) -> Metric<'static> {
    let interval = Some((gain.interval, gain.confidence_level));
    let mut metric = metric(pass, what, "x", gain.ratio, interval);
    if let Some(info) = &mut metric.extra_info {
        match gain.source {
            GainSource::Pairs { blocks, levels } => {
                info.push("blocks", Some(blocks));
                info.push("pair_builds", levels.builds);
                info.push("pair_within", levels.within);
                info.push("pair_between", levels.between);
            }
            GainSource::Quotient => info.push("source", Some(gain.source.word())),
        }
    }
    metric
}

/// A time under the name that dashboards know, and in µs: they cut values to two decimals.
fn times(side: &str, pass: &str, time: &Time, metrics: &mut Vec<Metric<'_>>) {
    for (what, unit, scale) in [("Time (ms)", "ms", 1e6), ("Time (us)", "us", 1e3)] {
        let bound = |Interval { low, high }| Interval { low: low / scale, high: high / scale };
        let interval = time.interval.map(|interval| (bound(interval), time.confidence_level));
        let mut metric =
            metric(format!("{side} {pass}"), what, unit, time.median_ns / scale, interval);
        if let Some(info) = &mut metric.extra_info {
            info.push("samples", Some(time.samples));
            info.push("quick", time.quick.then_some(true));
        }
        metrics.push(metric);
    }
}

/// The names of the two sides of a comparison: upstream's for models, our own for the rest.
fn sides(case: &Case) -> (&'static str, String) {
    match &case.work {
        Work::Model(_) => (dtype_name(case.dtype), "Quantized".to_owned()),
        Work::Fusion(_) => ("Unfused", case.variant()),
        Work::Operator(_) => ("ATen", case.variant()),
        Work::Probe(_) => ("Baseline", case.variant()),
        Work::Kernel(_) => ("Kernel", case.variant()),
    }
}

/// The pass that a case runs, in the dashboards' words.
fn pass(case: &Case) -> &'static str {
    match (case.mode, case.work.model().and_then(|work| work.pass)) {
        (_, Some(Pass::Forward)) => "Training Fwd",
        (_, Some(Pass::Backward)) => "Bwd",
        (_, Some(Pass::StepSgd)) => "Fwd+Bwd+SGD",
        (_, Some(Pass::StepAdamw)) => "Fwd+Bwd+AdamW",
        (_, Some(Pass::Casts)) => "Casts",
        (_, Some(Pass::Products)) => "Products",
        (_, Some(Pass::ForwardBackward)) | (Mode::Training, None) => "Fwd+Bwd",
        (Mode::Inference | Mode::Fusion | Mode::Operators, None) => "Fwd",
        (Mode::Calibration | Mode::Kernels, None) => "Step",
    }
}

/// All metrics of a case; none when it is no result of this machine.
pub fn metrics<'a>(entry: &Entry<'a>) -> Vec<Metric<'a>> {
    let (row, mut metrics) = (entry.row, Vec::new());
    let case = &row.record.case;
    if failure_type(&row.record.outcome).is_some() {
        // A record must have a metric. This one counts the failure; a time of zero would be read
        // as the fastest of all.
        return vec![metric("FAILURE_REPORT", "", "count", 1.0, None)];
    }
    if row.record.outcome != Outcome::Measured {
        return metrics;
    }
    let pass = pass(case);
    let (baseline, candidate) = sides(case);
    for (what, compared) in
        [("Speedup (x)", entry.quantization), ("Speedup over Eager (x)", entry.compilation)]
    {
        let gain = compared.and_then(|comparison| comparison.gain.as_ref().ok());
        metrics.extend(gain.map(|gain| speedup(pass, what, gain)));
    }
    if let Some(Ok(time)) = entry.unquantized.map(|row| &row.time) {
        times(baseline, pass, time, &mut metrics);
    }
    if let (Ok(time), Some(_)) = (&row.time, entry.quantization) {
        times(&candidate, pass, time, &mut metrics);
    }
    measures(pass, entry, &mut metrics);
    // The parts of a training step share everything but their names: elsewhere a model has one.
    let of = entry.row.pass().map(|_| format!("{pass} ")).unwrap_or_default();
    memory(&of, entry, &mut metrics);
    let sqnr = Field::known("sqnr").figure(entry).map(|figure| figure.value);
    let sqnr = sqnr.filter(|db| db.is_finite());
    metrics.extend(sqnr.map(|db| metric(format!("{of}SQNR"), "(dB)", "dB", db, None)));
    metrics
}

/// Memory, and how much it is of what the case is compared with.
fn memory(of: &str, entry: &Entry<'_>, metrics: &mut Vec<Metric<'_>>) {
    const PARTS: [&str; 2] = ["Allocated Memory", "Weights Memory"];
    if let Some(memory) = entry.row.record.measures.memory {
        // A probe has no weights, and nothing has no logarithm.
        let parts = PARTS.into_iter().zip([memory.peak_bytes(), memory.weights_bytes]);
        let parts = parts.filter(|(_, bytes)| *bytes > 0);
        metrics.extend(parts.map(|(part, bytes)| {
            metric(format!("{of}{part}"), "(MB)", "MB", bytes as f64 / 1e6, None)
        }));
    }
    let share = match &entry.row.record.case.work {
        Work::Model(_) => "(% of unquantized)",
        Work::Fusion(_) => "(% of unfused)",
        Work::Operator(_) => "(% of aten)",
        Work::Probe(_) | Work::Kernel(_) => "(% of baseline)",
    };
    if let Some(comparison) = entry.quantization {
        // Ratios, not reductions: a geometric mean takes logarithms, and a reduction may be zero. If
        // nothing is left, there is no logarithm either.
        let reductions = [comparison.peak_reduction, comparison.weights_reduction];
        let left = PARTS.into_iter().zip(reductions.map(|it| it.map(|reduction| 1.0 - reduction)));
        let left = left.filter_map(|(part, left)| Some((part, left.filter(|left| *left > 0.0)?)));
        metrics.extend(
            left.map(|(part, left)| metric(format!("{of}{part}"), share, "%", left * 100.0, None)),
        );
    }
}

/// Measures of the catalogue that a case has besides its time: field, what stands behind the pass,
/// unit, and the value in it. Times are in µs and energy in µJ: dashboards cut values to two decimals.
const METRICS: &[(&Field, &str, &str, InUnit)] = &[
    (Field::known("latency-p50"), "Latency p50 (us)", "us", |ns| ns / 1e3),
    (Field::known("latency-p90"), "Latency p90 (us)", "us", |ns| ns / 1e3),
    (Field::known("latency-p99"), "Latency p99 (us)", "us", |ns| ns / 1e3),
    (Field::known("latency-max"), "Latency max (us)", "us", |ns| ns / 1e3),
    (Field::known("throughput"), "Throughput (steps/s)", "steps/s", |value| value),
    (Field::known("gflops"), "Throughput (GFLOP/s)", "GFLOP/s", |value| value),
    (Field::known("bandwidth"), "Throughput (GB/s)", "GB/s", |value| value),
    (Field::known("first-call"), "First Call Time (us)", "us", |ns| ns / 1e3),
    (Field::known("energy"), "Energy (uJ)", "uJ", |joules| joules * 1e6),
];

/// From the catalogue's unit.
type InUnit = fn(f64) -> f64;

/// The measures that are there. A value that is not positive has no logarithm, and is left out.
fn measures(pass: &'static str, entry: &Entry<'_>, metrics: &mut Vec<Metric<'_>>) {
    metrics.extend(METRICS.iter().filter_map(|(field, what, unit, in_unit)| {
        let value = Some(in_unit(field.figure(entry)?.value)).filter(|value| *value > 0.0);
        Some(metric(pass, what, unit, value?, None))
    }));
}

/// Torch's name of the dtype as upstream's metrics spell it.
const fn dtype_name(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::BFloat16 => "Bfloat16",
        Dtype::Float16 => "Float16",
        Dtype::Float32 => "Float32",
        Dtype::Float64 => "Float64",
        Dtype::Float8E4M3Fn => "Float8E4M3Fn",
    }
}

/// The dashboard's word for a failure; `None` for skipped and merely tested cases.
pub fn failure_type(outcome: &Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Measured | Outcome::Tested | Outcome::Skipped { .. } => None,
        Outcome::Unsupported { .. }
        | Outcome::Oom { .. }
        | Outcome::Timeout { .. }
        | Outcome::Failed { .. } => Some(outcome.status()),
    }
}

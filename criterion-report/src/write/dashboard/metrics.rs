//! The metrics of the default form: every number of a case, under the names that dashboards know.

use plan::{Case, Dtype, Mode, Outcome, Work};

use super::record::{Info, Metric, Word};
use super::v3::failure_type;
use crate::model::{Entry, Field, Gain, GainSource, Interval, Time};

/// One number, with its interval where it has one.
fn metric(
    name: String,
    unit: &'static str,
    value: f64,
    interval: Option<(Interval, f64)>,
) -> Metric {
    let mut info = Info::default();
    info.push("unit", Some(Word::Text(unit.into())));
    if let Some((Interval { low, high }, level)) = interval {
        info.push("ci_low", Some(low));
        info.push("ci_high", Some(high));
        info.push("confidence_level", Some(level));
    }
    Metric { name, benchmark_values: [value], target_value: 0.0, extra_info: Some(info) }
}

fn speedup(name: String, gain: &Gain) -> Metric {
    let mut metric = metric(name, "x", gain.ratio, Some((gain.interval, gain.confidence_level)));
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
fn times(what: &str, time: &Time, metrics: &mut Vec<Metric>) {
    for (unit, scale) in [("ms", 1e6), ("us", 1e3)] {
        let bound = |Interval { low, high }| Interval { low: low / scale, high: high / scale };
        let interval = time.interval.map(|interval| (bound(interval), time.confidence_level));
        let mut metric =
            metric(format!("{what} Time ({unit})"), unit, time.median_ns / scale, interval);
        if let Some(info) = &mut metric.extra_info {
            info.push("samples", Some(time.samples));
            info.push("quick", time.quick.then_some(true));
        }
        metrics.push(metric);
    }
}

/// The names of the two sides of a comparison: upstream's for models, our own for the rest.
fn sides(case: &Case) -> (String, String) {
    match &case.work {
        Work::Model(_) => (dtype_name(case.dtype).to_owned(), "Quantized".to_owned()),
        Work::Fusion(_) => ("Unfused".to_owned(), case.variant()),
        Work::Operator(_) => ("ATen".to_owned(), case.variant()),
        Work::Probe(work) => ("Baseline".to_owned(), work.threads.variant()),
        Work::Kernel(_) => ("Kernel".to_owned(), case.variant()),
    }
}

/// All metrics of a case; none when it is no result of this machine.
pub fn metrics(entry: &Entry<'_>) -> Vec<Metric> {
    let (row, mut metrics) = (entry.row, Vec::new());
    let case = &row.record.case;
    if failure_type(&row.record.outcome).is_some() {
        // A record must have a metric. This one counts the failure; a time of zero would be read
        // as the fastest of all.
        return vec![metric("FAILURE_REPORT".to_owned(), "count", 1.0, None)];
    }
    if row.record.outcome != Outcome::Measured {
        return metrics;
    }
    let pass = match case.mode {
        Mode::Inference | Mode::Fusion | Mode::Operators => "Fwd",
        Mode::Training => "Fwd+Bwd",
        Mode::Calibration | Mode::Kernels => "Step",
    };
    let (baseline, candidate) = sides(case);
    for (name, compared) in
        [("Speedup", entry.quantization), ("Speedup over Eager", entry.compilation)]
    {
        let gain = compared.and_then(|comparison| comparison.gain.as_ref().ok());
        metrics.extend(gain.map(|gain| speedup(format!("{pass} {name} (x)"), gain)));
    }
    if let Some(Ok(time)) = entry.unquantized.map(|row| &row.time) {
        times(&format!("{baseline} {pass}"), time, &mut metrics);
    }
    if let (Ok(time), Some(_)) = (&row.time, entry.quantization) {
        times(&format!("{candidate} {pass}"), time, &mut metrics);
    }
    metrics.extend(measures(pass, entry));
    metrics.extend(memory(entry));
    let sqnr = Field::known("sqnr").figure(entry).map(|figure| figure.value);
    metrics.extend(
        sqnr.filter(|db| db.is_finite()).map(|db| metric("SQNR (dB)".to_owned(), "dB", db, None)),
    );
    metrics
}

/// Memory, and how much it is of what the case is compared with.
fn memory(entry: &Entry<'_>) -> Vec<Metric> {
    let mut metrics = Vec::new();
    if let Some(memory) = entry.row.record.measures.memory {
        // A probe has no weights, and nothing has no logarithm.
        let mut megabytes = |name: &str, bytes: u64| {
            let megabytes = (bytes > 0).then_some(bytes as f64 / 1e6);
            metrics.extend(megabytes.map(|it| metric(format!("{name} (MB)"), "MB", it, None)));
        };
        megabytes("Allocated Memory", memory.peak_bytes());
        megabytes("Weights Memory", memory.weights_bytes);
    }
    // Ratios, not reductions: a geometric mean takes logarithms, and a reduction may be zero.
    let whole = match &entry.row.record.case.work {
        Work::Model(_) => "unquantized",
        Work::Fusion(_) => "unfused",
        Work::Operator(_) => "aten",
        Work::Probe(_) | Work::Kernel(_) => "baseline",
    };
    if let Some(comparison) = entry.quantization {
        for (name, reduction) in [
            ("Allocated Memory", comparison.peak_reduction),
            ("Weights Memory", comparison.weights_reduction),
        ] {
            // If nothing is left, there is no logarithm either.
            let share = reduction.map(|it| 1.0 - it).filter(|share| *share > 0.0);
            metrics.extend(
                share.map(|share| {
                    metric(format!("{name} (% of {whole})"), "%", share * 100.0, None)
                }),
            );
        }
    }
    metrics
}

/// Measures of the catalogue that a case has besides its time: field, what stands behind the pass,
/// unit, and the value in it. Times are in µs and energy in µJ: dashboards cut values to two decimals.
const METRICS: [(&Field, &str, &str, InUnit); 9] = [
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
fn measures(pass: &str, entry: &Entry<'_>) -> Vec<Metric> {
    let mut metrics = Vec::new();
    for (field, what, unit, in_unit) in METRICS {
        let value =
            field.figure(entry).map(|figure| in_unit(figure.value)).filter(|value| *value > 0.0);
        metrics.extend(value.map(|value| metric(format!("{pass} {what}"), unit, value, None)));
    }
    metrics
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

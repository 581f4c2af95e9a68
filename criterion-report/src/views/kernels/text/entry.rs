//! One case, as `kernels/<name>.json` and `summary.json` hold it.

use std::collections::BTreeMap;

use plan::{Device, Dtype, Judged, KernelTolerances, KernelWork, Latency, Outcome};
use serde_json::{Value as Json, json};

use crate::model::{Entry, NoSpeedup, Speedup, Time, Value, VarianceComponents, column};
use crate::order::Sorted as _;
use crate::render::object::document;
use crate::views::kernels::{KernelResult, SCHEMA, VERSION};

const MIB: f64 = (1 << 20) as f64;

document! {
    /// The file of a kernel: upstream's object for the leading case, and in it every case.
    pub struct KernelFile<'a> = of(cases: &[&'a KernelResult<'a>]) [leading = leading(cases);] {
        #[serde(flatten)]
        upstream: Option<Upstream<'a>> = leading.map(|it| Upstream::of(it, true)),
        schema: &'static str = SCHEMA,
        version: u32 = VERSION,
        full_id: Option<&'a str> = leading.map(|it| it.full_id),
        cases: Vec<Item<'a>> = cases.iter().map(|it| Item::of(it, true)).collect(),
    }

    /// A case under upstream's names, in its order. Numbers of an unmeasured case are null, never
    /// zero, with the reason in `error_message`.
    struct Upstream<'a> = of(result: &'a KernelResult<'a>, raw: bool) [
        entry = result.entry;
        measures = result.measured().map(|record| &record.measures);
        accuracy = Accuracy::of(entry);
        is_known = accuracy.relative_error.is_some() || accuracy.determinism_std.is_some();
    ] {
        kernel_name: &'a str = result.kernel,
        backend: &'a str = result.backend,
        precision: Option<&'static str> = result.precision.map(Dtype::precision),
        problem_size: Option<&'a BTreeMap<String, Json>> = result.problem_size(),
        timing: Option<Timing<'a>> = result.latency().map(|it| Timing::of(result, it, raw)),
        memory: Option<Memory> = measures.and_then(|it| it.memory).map(Memory::of),
        energy: Option<Energy<'a>> = measures.and_then(|it| it.energy.as_ref()).map(Energy::of),
        accuracy: Option<Accuracy<'a>> = is_known.then_some(accuracy),
        success: bool = measures.is_some(),
        error_message: Option<&'a str> =
            result.point.reason.as_deref().filter(|_| measures.is_none()),
        metadata: BTreeMap<&'a str, Json> = metadata(result).0,
    }

    /// A case; with `raw` it has every single call.
    pub struct Item<'a> = of(result: &'a KernelResult<'a>, raw: bool) [
        point = &result.point;
        work = result.work();
        entry = result.entry;
        facts = result.record().and_then(|record| record.kernel.as_ref());
        is_untimed = result.time().is_none() && result.measured().is_some();
        cautions = entry.map(|entry| entry.cautions()).unwrap_or_default();
    ] {
        #[serde(flatten)]
        upstream: Upstream<'a> = Upstream::of(result, raw),
        full_id: &'a str = result.full_id,
        config: Option<&'a str> = result.case.map(|case| &*case.config),
        implementation: &'a str = result.implementation,
        path: Option<&'a str> = work.map(|work| &*work.file),
        outcome: &'a str = &point.status,
        earlier: bool = point.earlier,
        criterion: Option<Criterion<'a>> = result.time().map(|time| Criterion::of(entry, time)),
        no_criterion_reason: Option<&'a str> = point.reason.as_deref().filter(|_| is_untimed),
        speedup: Option<Versus<'a>> = entry.and_then(|it| Some(Versus::of(it, it.speedup()?))),
        no_speedup_reason: Option<String> = entry.and_then(why_no_speedup),
        judged: Option<&'a Judged> = result.judged(),
        judged_speedup: Option<f64> = result.judged_speedup(),
        flops: Option<Value<'a>> = column!(entry, "flops"),
        bytes: Option<u64> = facts.and_then(|facts| facts.bytes),
        gflop_per_s: Option<Value<'a>> = column!(entry, "gflops"),
        gb_per_s: Option<Value<'a>> = column!(entry, "bandwidth"),
        has_reference: Option<bool> = facts.map(|facts| facts.has_reference),
        tolerances: Option<KernelTolerances> = work.map(|work| work.tolerances),
        determinism_runs: Option<u64> = facts.map(|facts| facts.runs),
        threads: Option<Value<'a>> = column!(entry, "threads"),
        device_name: Option<&'a str> = device_name(result),
        host_fingerprint: Option<&'a str> = point.host.as_deref(),
        git_revision: Option<&'a str> = point.revision.as_deref(),
        run_id: Option<Value<'a>> = column!(entry, "run-id"),
        measured_at: Option<Value<'a>> = column!(entry, "timestamp"),
        /// Why values of a measured case are null, by their names.
        absent: BTreeMap<&'a str, String> = absent(result, raw),
        notes: Vec<String> =
            cautions.iter().map(ToString::to_string).chain(metadata(result).1).collect(),
    }

    /// Single calls, each timed by itself, in ms.
    struct Timing<'a> = of(result: &KernelResult<'a>, latency: Latency, raw: bool) [
        entry = result.entry;
        calls = result.measured().map(|record| &record.measures.calls_ns);
        kept = calls.filter(|calls| !calls.is_empty());
        ms = |calls: &Vec<u64>| calls.iter().map(|&ns| ns as f64 / 1e6).collect();
    ] {
        latency_ms_p50: Option<Value<'a>> = column!(entry, "latency-p50" / 1e6),
        latency_ms_p90: Option<Value<'a>> = column!(entry, "latency-p90" / 1e6),
        latency_ms_p99: Option<Value<'a>> = column!(entry, "latency-p99" / 1e6),
        latency_ms_mean: Option<Value<'a>> = column!(entry, "call-mean" / 1e6),
        latency_ms_std: Option<f64> = result.latency_std_ns().map(|ns| ns / 1e6),
        throughput_ops_per_sec: f64 = 1e9 / latency.mean_ns,
        iterations: Option<Value<'a>> = column!(entry, "latency-calls"),
        latency_ms_max: Option<Value<'a>> = column!(entry, "latency-max" / 1e6),
        /// Every single call; null where they were not kept.
        #[serde(skip_serializing_if = "Option::is_none")]
        raw_times_ms: Option<Option<Vec<f64>>> = raw.then(|| kept.map(ms)),
    }

    /// Memory of a step, in MiB.
    struct Memory = of(memory: plan::Memory) {
        peak_mb: f64 = memory.peak_bytes() as f64 / MIB,
        allocated_mb: f64 = (memory.peak_bytes() - memory.step.peak_bytes) as f64 / MIB,
        reserved_mb: Option<f64> = None,
        step_peak_mb: f64 = memory.step.peak_bytes as f64 / MIB,
        step_allocations: u64 = memory.step.allocations,
    }

    /// Energy of a step.
    struct Energy<'a> = of(energy: &'a plan::Energy) {
        energy_j: f64 = energy.joules,
        power_w: f64 = energy.watts,
        duration_s: f64 = energy.window_s / energy.iters as f64,
        idle_w: Option<f64> = energy.idle_watts,
        idle_subtracted: bool = energy.idle_subtracted,
        window_s: f64 = energy.window_s,
        window_iterations: u64 = energy.iters,
        method: &'a str = &energy.method,
    }

    /// The output against its reference, in the units of the output but for `relative_error`.
    struct Accuracy<'a> = of(entry: Option<Entry<'a>>) {
        rmse: Option<Value<'a>> = column!(entry, "rmse"),
        max_error: Option<Value<'a>> = column!(entry, "max-abs-error"),
        relative_error: Option<Value<'a>> = column!(entry, "relative-error"),
        determinism_std: Option<Value<'a>> = column!(entry, "determinism-std"),
    }

    /// Criterion's estimate of a step, in ms.
    struct Criterion<'a> = of(entry: Option<Entry<'a>>, time: &Time) {
        median_ms: Option<Value<'a>> = column!(entry, "latency" / 1e6),
        low_ms: Option<Value<'a>> = column!(entry, "latency", Low / 1e6),
        high_ms: Option<Value<'a>> = column!(entry, "latency", High / 1e6),
        confidence_level: f64 = time.confidence_level,
        mean_ms: Option<Value<'a>> = column!(entry, "latency-mean" / 1e6),
        std_dev_ms: Option<Value<'a>> = column!(entry, "latency-std-dev" / 1e6),
        samples: Option<Value<'a>> = column!(entry, "samples"),
        quick: Option<Value<'a>> = column!(entry, "quick"),
    }

    /// How many times faster it is than the baseline of its group.
    struct Versus<'a> = of(entry: Entry<'a>, speedup: &Speedup) {
        ratio: f64 = speedup.ratio,
        low: f64 = speedup.interval.low,
        high: f64 = speedup.interval.high,
        confidence_level: f64 = speedup.confidence_level,
        blocks: usize = speedup.blocks,
        #[serde(flatten)]
        levels: VarianceComponents = speedup.levels,
        verdict: &'static str = speedup.verdict().word(),
        over: Option<&'a str> = entry.baseline.map(|row| row.full_id()),
    }
}

/// The case to which upstream's names refer: the first measured case, of the baseline if there is one; without
/// measured cases, the first.
fn leading<'a>(cases: &[&'a KernelResult<'a>]) -> Option<&'a KernelResult<'a>> {
    let rank = |result: &&&KernelResult<'_>| {
        let is_baseline = result.implementation == KernelWork::BASELINE;
        (result.measured().is_none(), !is_baseline)
    };
    // `min_by_key` returns the first of equal elements.
    cases.iter().min_by_key(rank).copied()
}

fn why_no_speedup(entry: Entry<'_>) -> Option<String> {
    match entry.comparison.map(|comparison| &comparison.speedup) {
        None => {
            let is_measured = entry.row.record.outcome == Outcome::Measured;
            is_measured.then(|| "the others are compared with it".to_owned())
        }
        Some(Err(NoSpeedup::NotMeasured) | Ok(_)) => None,
        Some(Err(why)) => Some(why.to_string()),
    }
}

fn device_name<'a>(result: &KernelResult<'a>) -> Option<&'a str> {
    let environment = &result.record()?.environment;
    match result.case?.device {
        Device::Cpu => Some(&environment.host.cpu_model),
        Device::Cuda => environment.torch.cuda_device.as_deref(),
        // The record does not name the device.
        Device::Rocm | Device::Xpu | Device::Mps => None,
    }
}

/// The settings that were asked for, and the author's own metadata. Our names win: a note says so if
/// the author has one of them.
fn metadata<'a>(result: &KernelResult<'a>) -> (BTreeMap<&'a str, Json>, Vec<String>) {
    let Some(case) = result.case else { return (BTreeMap::new(), Vec::new()) };
    let authors = result.work().map(|work| &work.metadata);
    let mut metadata: BTreeMap<&str, Json> = authors
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.as_str(), value.clone()))
        .sorted_map();
    let mut taken = Vec::new();
    let settings = &case.settings;
    for (name, value) in [
        ("iterations", json!(settings.latency.calls.or(settings.latency.fewest))),
        ("warmup", json!(settings.latency.warm_up)),
        ("seed", json!(settings.seed)),
    ] {
        if metadata.insert(name, value).is_some() {
            taken.push(format!(
                "the `metadata` of its bench.yaml has a `{name}`, which is not shown: here it is \
                 what the run was asked for"
            ));
        }
    }
    (metadata, taken)
}

const FEW_CALLS: &str = "too few calls: at least five have to lie beyond a percentile";

const NOT_KEPT: &str = "the record does not have the single calls, only what follows from them";

/// Why values of a measured case are null, by their names.
fn absent<'a>(result: &KernelResult<'a>, raw: bool) -> BTreeMap<&'a str, String> {
    let Some(record) = result.measured() else { return BTreeMap::new() };
    let of_record = record.measures.absent.iter();
    let mut absent: BTreeMap<&str, String> =
        of_record.map(|(name, why)| (name.as_str(), why.clone())).sorted_map();
    if let Some(latency) = result.latency() {
        for (name, percentile, calls) in [
            ("timing.latency_ms_p90", latency.p90_ns, statistics::required_calls(0.9)),
            ("timing.latency_ms_p99", latency.p99_ns, statistics::required_calls(0.99)),
        ] {
            if percentile.is_none() {
                let why = format!("{FEW_CALLS}: {} of {calls}", latency.calls);
                absent.insert(name, why);
            }
        }
    }
    if result.latency().is_some() && record.measures.calls_ns.is_empty() {
        if result.latency_std_ns().is_none() {
            absent.insert("timing.latency_ms_std", NOT_KEPT.to_owned());
        }
        if raw {
            absent.insert("timing.raw_times_ms", NOT_KEPT.to_owned());
        }
    }
    if let Some(why) = result.entry.and_then(|it| it.row.not_judged()) {
        absent.insert("judged", why.to_owned());
    }
    if !result.has_reference() {
        absent.insert("accuracy.rmse", "the kernel has no reference".to_owned());
    }
    if record.measures.memory.is_some() {
        let why = match record.case.device {
            Device::Cpu => "a CPU has no reserving allocator",
            Device::Cuda | Device::Rocm | Device::Xpu | Device::Mps => "it is not recorded",
        };
        absent.insert("memory.reserved_mb", why.to_owned());
    }
    absent
}

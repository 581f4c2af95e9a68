//! One case, as `kernels/<name>.json` and `summary.json` hold it.

use std::collections::BTreeMap;

use plan::{Device, KernelWork, Outcome};
use serde_json::{Value, json};

use crate::model::{self, NoSpeedup, Speedup, Time, column};
use crate::order::Sorted as _;
use crate::render::object::object;
use crate::views::kernels::{KernelResult, SCHEMA, VERSION};

const MIB: f64 = (1 << 20) as f64;

/// The file of a kernel: upstream's object for the leading case, and in it every case.
pub struct KernelFile<'r, 'a>(pub Vec<&'r KernelResult<'a>>);

/// A case; with `raw` it has every single call. Upstream's names come first, in its order. Numbers
/// of an unmeasured case are null, never zero, with the reason in `error_message`.
#[derive(Clone, Copy)]
pub struct Entry<'r, 'a> {
    pub result: &'r KernelResult<'a>,
    pub raw: bool,
}

/// The fields of a case under upstream's names.
struct Upstream<'r, 'a>(Entry<'r, 'a>);
/// Single calls, each timed by itself, in ms.
struct Timing<'r, 'a>(&'r Entry<'r, 'a>, plan::Latency);
/// Every single call, in ms; null where they were not kept.
struct Raw(Option<Vec<f64>>);
/// Memory of a step, in MiB.
struct Memory(plan::Memory);
/// Energy of a step.
struct Energy<'a>(&'a plan::Energy);
/// The output against its reference, in the units of the output but for `relative_error`.
struct Accuracy<'a>(Option<model::Entry<'a>>);
/// Criterion's estimate of a step, in ms.
struct Criterion<'a>(Option<model::Entry<'a>>, &'a Time);
/// How many times faster it is than the baseline of its group.
struct Versus<'a>(model::Entry<'a>, &'a Speedup);

object! {
    KernelFile<'_, '_> => |it| [leading = it.leading();] {
        _: leading.map(|result| Upstream(Entry { result, raw: true })),
        "schema": SCHEMA,
        "version": VERSION,
        "full_id": leading.map(|result| result.full_id),
        "cases": it.0.iter().map(|result| Entry { result, raw: true }).collect::<Vec<_>>(),
    }

    Upstream<'_, '_> => |it| [
        result = it.0.result;
        point = &result.point;
        entry = result.entry;
        measures = result.measured().map(|record| &record.measures);
    ] {
        "kernel_name": result.kernel,
        "backend": result.backend,
        "precision": result.precision.map(|precision| precision.precision()),
        "problem_size": result.problem_size(),
        "timing": result.latency().map(|latency| Timing(&it.0, latency)),
        "memory": measures.and_then(|measures| measures.memory).map(Memory),
        "energy": measures.and_then(|measures| measures.energy.as_ref()).map(Energy),
        "accuracy": Some(Accuracy(entry)).filter(Accuracy::is_known),
        "success": measures.is_some(),
        "error_message": point.reason.as_ref().filter(|_| measures.is_none()),
        "metadata": metadata(result).0,
    }

    Entry<'_, '_> => |it| [
        result = it.result;
        point = &result.point;
        work = result.work();
        record = result.record();
        entry = result.entry;
        facts = record.and_then(|record| record.kernel.as_ref());
        measures = result.measured().map(|record| &record.measures);
        taken = metadata(result).1;
        notes = entry.map(|entry| entry.cautions()).unwrap_or_default();
    ] {
        _: Upstream(*it),
        "full_id": result.full_id,
        "config": result.case.map(|case| &case.config),
        "implementation": result.implementation,
        "path": work.map(|work| &work.file),
        "outcome": point.status,
        "earlier": point.earlier,
        "criterion": result.time().map(|time| Criterion(entry, time)),
        "no_criterion_reason":
            point.reason.as_ref().filter(|_| result.time().is_none() && measures.is_some()),
        "speedup": entry.and_then(|entry| Some(Versus(entry, entry.speedup()?))),
        "no_speedup_reason": entry.and_then(why_no_speedup),
        "flops": column!(entry, "flops"),
        "bytes": facts.and_then(|facts| facts.bytes),
        "gflop_per_s": column!(entry, "gflops"),
        "gb_per_s": column!(entry, "bandwidth"),
        "has_reference": facts.map(|facts| facts.has_reference),
        "tolerances": work.map(|work| work.tolerances),
        "determinism_runs": facts.map(|facts| facts.runs),
        "threads": column!(entry, "threads"),
        "device_name": device_name(result),
        "host_fingerprint": point.host,
        "git_revision": point.revision,
        "run_id": column!(entry, "run-id"),
        "measured_at": column!(entry, "timestamp"),
        "absent": absent(result, it.raw),
        "notes": notes.iter().map(ToString::to_string).chain(taken).collect::<Vec<_>>(),
    }

    Timing<'_, '_> => |it| [
        entry = it.0.result.entry;
        calls = it.0.result.measured().map(|record| &record.measures.calls_ns);
        kept = calls.filter(|calls| !calls.is_empty());
        raw = || kept.map(|calls| calls.iter().map(|&ns| ns as f64 / 1e6).collect());
    ] {
        "latency_ms_p50": column!(entry, "latency-p50" / 1e6),
        "latency_ms_p90": column!(entry, "latency-p90" / 1e6),
        "latency_ms_p99": column!(entry, "latency-p99" / 1e6),
        "latency_ms_mean": column!(entry, "call-mean" / 1e6),
        "latency_ms_std": it.0.result.latency_std_ns().map(|ns| ns / 1e6),
        "throughput_ops_per_sec": 1e9 / it.1.mean_ns,
        "iterations": column!(entry, "latency-calls"),
        "latency_ms_max": column!(entry, "latency-max" / 1e6),
        _: it.0.raw.then(raw).map(Raw),
    }

    Raw => |it| {
        "raw_times_ms": it.0,
    }

    Memory => |it| {
        "peak_mb": it.0.peak_bytes() as f64 / MIB,
        "allocated_mb": (it.0.peak_bytes() - it.0.step.peak_bytes) as f64 / MIB,
        "reserved_mb": None::<f64>,
        "step_peak_mb": it.0.step.peak_bytes as f64 / MIB,
        "step_allocations": it.0.step.allocations,
    }

    Energy<'_> => |it| {
        "energy_j": it.0.joules,
        "power_w": it.0.watts,
        "duration_s": it.0.window_s / it.0.iters as f64,
        "idle_w": it.0.idle_watts,
        "idle_subtracted": it.0.idle_subtracted,
        "window_s": it.0.window_s,
        "window_iterations": it.0.iters,
        "method": it.0.method,
    }

    Accuracy<'_> => |it| {
        "rmse": column!(it.0, "rmse"),
        "max_error": column!(it.0, "max-abs-error"),
        "relative_error": column!(it.0, "relative-error"),
        "determinism_std": column!(it.0, "determinism-std"),
    }

    Criterion<'_> => |it| {
        "median_ms": column!(it.0, "latency" / 1e6),
        "low_ms": column!(it.0, "latency", Low / 1e6),
        "high_ms": column!(it.0, "latency", High / 1e6),
        "confidence_level": it.1.confidence_level,
        "mean_ms": column!(it.0, "latency-mean" / 1e6),
        "std_dev_ms": column!(it.0, "latency-std-dev" / 1e6),
        "samples": column!(it.0, "samples"),
        "quick": column!(it.0, "quick"),
    }

    Versus<'_> => |it| {
        "ratio": it.1.ratio,
        "low": it.1.interval.low,
        "high": it.1.interval.high,
        "confidence_level": it.1.confidence_level,
        "blocks": it.1.blocks,
        _: it.1.levels,
        "verdict": it.1.verdict().word(),
        "over": it.0.baseline.map(|row| row.full_id()),
    }
}

impl<'r, 'a> KernelFile<'r, 'a> {
    /// The case to which upstream's names refer: the first measured case, of the baseline if there is one; without
    /// measured cases, the first.
    fn leading(&self) -> Option<&'r KernelResult<'a>> {
        let rank = |result: &&&'r KernelResult<'a>| {
            let is_baseline = result.implementation == KernelWork::BASELINE;
            (result.measured().is_none(), !is_baseline)
        };
        // `min_by_key` returns the first of equal elements.
        self.0.iter().min_by_key(rank).copied()
    }
}

impl Accuracy<'_> {
    /// Whether anything was found out.
    fn is_known(&self) -> bool {
        column!(self.0, "relative-error").is_some() || column!(self.0, "determinism-std").is_some()
    }
}

fn why_no_speedup(entry: model::Entry<'_>) -> Option<String> {
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
fn metadata<'a>(result: &KernelResult<'a>) -> (BTreeMap<&'a str, Value>, Vec<String>) {
    let Some(case) = result.case else { return (BTreeMap::new(), Vec::new()) };
    let authors = result.work().map(|work| &work.metadata);
    let mut metadata: BTreeMap<&str, Value> = authors
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

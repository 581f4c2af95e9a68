//! One case, as `kernels/<name>.json` and `summary.json` hold it.

use std::collections::BTreeMap;

use plan::{Device, KernelTolerances, Stat};
use serde::Serialize;
use serde_json::{Value, json};

use super::measured::{Criterion, Energy, Memory, Timing, Versus};
use crate::model::kernels::KernelResult;
use crate::units;

/// Upstream's names come first, in its order. Those of a case that was not measured are null, never
/// zero, with the reason in `error_message`.
#[derive(Serialize)]
pub struct Entry<'a> {
    kernel_name: &'a str,
    backend: &'a str,
    precision: Option<&'static str>,
    problem_size: Option<&'a BTreeMap<String, Value>>,
    timing: Option<Timing>,
    memory: Option<Memory>,
    energy: Option<Energy<'a>>,
    accuracy: Option<Accuracy>,
    success: bool,
    error_message: Option<String>,
    metadata: BTreeMap<&'a str, Value>,
    full_id: &'a str,
    config: Option<&'a str>,
    implementation: &'a str,
    path: Option<&'a str>,
    outcome: &'static str,
    earlier: bool,
    criterion: Option<Criterion>,
    no_criterion_reason: Option<String>,
    speedup: Option<Versus<'a>>,
    no_speedup_reason: Option<String>,
    flops: Option<u64>,
    bytes: Option<u64>,
    gflop_per_s: Option<f64>,
    gb_per_s: Option<f64>,
    has_reference: Option<bool>,
    tolerances: Option<KernelTolerances>,
    determinism_runs: Option<u64>,
    threads: Option<u32>,
    device_name: Option<&'a str>,
    host_fingerprint: Option<String>,
    git_revision: Option<&'a str>,
    run_id: Option<&'a str>,
    measured_at: Option<String>,
    absent: BTreeMap<&'a str, String>,
    notes: Vec<String>,
}

/// The output against its reference, in the units of the output but for `relative_error`.
#[derive(Serialize)]
struct Accuracy {
    rmse: Option<Stat>,
    max_error: Option<Stat>,
    relative_error: Option<Stat>,
    determinism_std: Option<Stat>,
}

impl Accuracy {
    /// Null where nothing was found out.
    fn of(result: &KernelResult<'_>) -> Option<Self> {
        let (errors, determinism_std) = (result.errors(), result.determinism_std());
        (errors.is_some() || determinism_std.is_some()).then_some(Self {
            rmse: errors.and_then(|errors| errors.rmse),
            max_error: errors.map(|errors| errors.max_error),
            relative_error: errors.map(|errors| errors.relative_error),
            determinism_std,
        })
    }
}

impl<'a> Entry<'a> {
    /// The entry of a case; with `raw` it has every single call.
    pub fn of(result: &KernelResult<'a>, raw: bool) -> Self {
        let (work, record) = (result.work(), result.record());
        let row = result.entry.map(|entry| entry.row);
        let facts = record.and_then(|record| record.kernel.as_ref());
        let success = result.measured().is_some();
        let timed = result.time();
        let environment = record.map(|record| &record.environment);
        let (metadata, taken) = metadata(result);
        let cautions = result.entry.map(|entry| entry.cautions()).unwrap_or_default();
        let notes = cautions.iter().map(ToString::to_string).chain(taken).collect();
        Self {
            kernel_name: result.kernel,
            backend: result.backend,
            precision: result.precision.map(|precision| precision.precision()),
            problem_size: result.problem_size(),
            timing: Timing::of(result, raw),
            memory: Memory::of(result),
            energy: Energy::of(result),
            accuracy: Accuracy::of(result),
            success,
            error_message: result.reason.clone().filter(|_| !success),
            metadata,
            full_id: result.full_id,
            config: result.case.map(|case| case.config.as_str()),
            implementation: result.implementation,
            path: work.map(|work| work.file.as_str()),
            outcome: result.status,
            earlier: result.earlier,
            criterion: timed.map(Criterion::of),
            no_criterion_reason: if timed.is_none() && success {
                result.reason.clone()
            } else {
                None
            },
            speedup: result.entry.and_then(Versus::of),
            no_speedup_reason: result.entry.and_then(Versus::why_not),
            flops: facts.and_then(|facts| facts.flops),
            bytes: facts.and_then(|facts| facts.bytes),
            gflop_per_s: row.and_then(|row| row.gflop_per_s()),
            gb_per_s: row.and_then(|row| row.gb_per_s()),
            has_reference: facts.map(|facts| facts.has_reference),
            tolerances: work.map(|work| work.tolerances),
            determinism_runs: facts.map(|facts| facts.runs),
            threads: environment.map(|environment| environment.torch.threads),
            device_name: device_name(result),
            host_fingerprint: result.host(),
            git_revision: environment.and_then(|it| it.git_revision.as_deref()),
            run_id: record.map(|record| record.run_id.as_str()),
            measured_at: record.map(|record| units::rfc3339(record.timestamp)),
            absent: absent(result, raw),
            notes,
        }
    }
}

fn device_name<'a>(result: &KernelResult<'a>) -> Option<&'a str> {
    let environment = &result.record()?.environment;
    match result.case?.device {
        Device::Cpu => Some(&environment.host.cpu_model),
        Device::Cuda => environment.torch.cuda_device.as_deref(),
        // Which one it is, is not recorded.
        Device::Xpu | Device::Mps => None,
    }
}

/// The settings that were asked for, and the author's own metadata. Our names win: a note says so if
/// the author has one of them.
fn metadata<'a>(result: &KernelResult<'a>) -> (BTreeMap<&'a str, Value>, Vec<String>) {
    let Some(case) = result.case else { return (BTreeMap::new(), Vec::new()) };
    let authors = result.work().map(|work| &work.metadata);
    let mut metadata: BTreeMap<&str, Value> =
        authors.into_iter().flatten().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let mut taken = Vec::new();
    let settings = &case.settings;
    for (name, value) in [
        ("iterations", json!(settings.latency.calls)),
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
        of_record.map(|(name, why)| (name.as_str(), why.clone())).collect();
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
            Device::Cuda | Device::Xpu | Device::Mps => "it is not recorded",
        };
        absent.insert("memory.reserved_mb", why.to_owned());
    }
    absent
}

//! The profile of a machine, from what the benchmarks recorded.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use anyhow::Result;
use plan::Probe;
use serde_json::{Map, Value, json};

use super::fusion;
use super::memory::Level;
use super::operation::Operation;
use super::preset::Precision;
use super::profile::Spread;
use super::request::Request;
use super::roofs::{Limit, Roofs, telling};
use super::schema::{
    CallOverhead, Finding, LaunchLatency, Metadata, OperationCalibration, PeakSources, Profile,
    params,
};
use super::select::{device, latest, newest, one_machine, unmeasured};
use crate::model::{
    Circumstances, FusionResult, Interval, PatternAdvice, Report, Row, sdpa_dispatch,
};
use crate::order::Sorted as _;
use crate::units;

pub fn calibrate(report: &Report, request: &Request<'_>) -> Result<Profile> {
    let device = device(report, request)?;
    let mut notes = Vec::new();
    let operations = latest(report, request, device, &mut notes);
    let results = fusion::results(report, device, request.patterns, &mut notes);
    let rows = rows(&operations, &results);
    one_machine(&rows, device)?;
    notes.extend(unmeasured(report, device));
    let cases: Vec<&Row> = telling(report.entries().map(|entry| entry.row))
        .filter(|row| row.record.case.device == device)
        .collect();
    let roofs = Roofs::of(&operations, &cases, device, request, &mut notes);
    let profiles: BTreeMap<String, OperationCalibration> = operations
        .iter()
        .filter(|operation| operation.key.probe.is_product() || operation.key.probe.is_stream())
        .map(|operation| (operation.key.to_string(), profile_of(operation, &roofs)))
        .sorted_map();

    let mut fusion_profiles = fusion::profiles(&results, &roofs);
    notes.extend(fusion::overshoots(&roofs, &results));
    notes.extend(without_speedup(results.len() - fusion_profiles.len()));
    let by_pattern = fusion::by_pattern(&results, &fusion_profiles, &mut notes);
    fusion_profiles.extend(by_pattern);
    notes.extend(dispatch(&results));
    notes.extend(
        request.preset.and_then(|preset| preset.mismatch(&newest(&operations)?.row.record)),
    );
    let memory = match roofs.memory_threads {
        0 => Limit::new(None, request.bandwidth()),
        threads => roofs.bandwidth(threads),
    };
    let run_ids: BTreeSet<String> =
        rows.iter().flat_map(|row| row.in_runs()).map(|row| row.record.run_id.clone()).sorted_set();
    let compute: Vec<&OperationCalibration> = operations
        .iter()
        .filter(|operation| roofs.is_headline(&operation.key))
        .map(|operation| &profiles[&operation.key.to_string()])
        .collect();
    let gflops = Spread::of(compute.iter().map(|profile| profile.measured_gflops));
    let efficiency = Spread::of(compute.iter().filter_map(|profile| profile.efficiency));
    let measured_bandwidth = memory.as_ref().and_then(|it| Some(it.measured.as_ref()?.value));
    let taken = |limit: Limit| (limit.value, limit.source);
    let peak = roofs.headline.as_ref().map(|roof| taken(roof.peak_gflops.clone()));
    let (peak, peak_source) = peak.or_else(|| request.peak(Precision::Float32)).unzip();
    let (bandwidth, bandwidth_source) = memory.map(taken).unzip();
    let mut profile = Profile {
        metadata: metadata(&operations, request),
        theoretical_peak_gflops: peak,
        theoretical_bandwidth_gbps: bandwidth,
        best_measured_gflops: gflops.map(|it| it.best),
        avg_measured_gflops: gflops.map(|it| it.mean),
        worst_measured_gflops: gflops.map(|it| it.worst),
        measured_bandwidth_gbps: measured_bandwidth,
        bandwidth_efficiency: measured_bandwidth.zip(bandwidth).map(|(it, peak)| it / peak),
        best_efficiency: efficiency.map(|it| it.best),
        avg_efficiency: efficiency.map(|it| it.mean),
        worst_efficiency: efficiency.map(|it| it.worst),
        operation_profiles: profiles,
        fusion_profiles,
        schema: Some(Profile::SCHEMA.to_owned()),
        version: Some(Profile::VERSION),
        peak_source: Some(PeakSources { gflops: peak_source, bandwidth: bandwidth_source }),
        bandwidth_by_level: roofs.memory.by_level(device),
        rooflines: roofs.all,
        launch_latencies: operations.iter().filter_map(launch).collect(),
        call_overheads: operations.iter().filter_map(call).collect(),
        fusion_strategy: PatternAdvice::all(&results),
        environment: newest(&operations).map(|it| (*it.row.record.environment).clone()),
        preflight_checks: findings(report, &run_ids),
        run_ids: run_ids.into_iter().collect(),
        notes: Vec::new(),
    };
    notes.extend(circumstances(&rows));
    notes.extend(profile.overshoots());
    profile.notes = notes;
    Ok(profile)
}

/// An operation in upstream's schema.
fn profile_of(operation: &Operation<'_>, roofs: &Roofs) -> OperationCalibration {
    let Operation { key, time, .. } = operation;
    let intensity = operation.intensity();
    let memory_bound = roofs.roof(key).and_then(|roof| roof.is_memory_bound(intensity));
    let shape = match key.probe {
        Probe::Matmul | Probe::MatmulOnednn => vec![key.size, key.size],
        _ => vec![key.size / key.dtype.bytes()],
    };
    OperationCalibration {
        // Upstream's word, whichever library it is by; `operation` says that.
        operation_type: if key.probe.is_product() { Probe::Matmul } else { key.probe }.to_string(),
        measured_gflops: operation.gflops().value,
        efficiency: roofs.efficiency(operation),
        achieved_bandwidth_gbps: operation.gbps().value,
        memory_bound,
        compute_bound: memory_bound.map(|memory| !memory),
        arithmetic_intensity: intensity,
        batch_size: 1,
        input_shape: shape.clone(),
        output_shape: shape,
        mean_latency_ms: time.mean_ns / 1e6,
        std_latency_ms: time.std_dev_ns / 1e6,
        min_latency_ms: time.fastest_ns / 1e6,
        max_latency_ms: time.slowest_ns / 1e6,
        num_trials: time.samples as u64,
        extra_params: extra(operation, roofs),
    }
}

fn launch(operation: &Operation<'_>) -> Option<LaunchLatency> {
    let Operation { key, row, time, .. } = operation;
    let measures = &row.record.measures;
    (key.probe == Probe::Launch).then(|| LaunchLatency {
        device: key.device,
        threads: key.threads,
        queue_us: measures.clocks.map(|clocks| clocks.queue_ns / 1e3),
        round_trip_us: measures.latency.map(|latency| latency.p50_ns / 1e3),
        median_us: time.median_ns / 1e3,
        low_us: time.interval.map(|it| it.low / 1e3),
        high_us: time.interval.map(|it| it.high / 1e3),
        num_trials: time.samples as u64,
        full_id: row.full_id().to_owned(),
    })
}

fn call(operation: &Operation<'_>) -> Option<CallOverhead> {
    let Operation { key, row, time, .. } = operation;
    key.probe.is_call().then(|| CallOverhead {
        probe: key.probe,
        device: key.device,
        threads: key.threads,
        queue_ns: row.record.measures.clocks.map(|clocks| clocks.queue_ns),
        median_ns: time.median_ns,
        low_ns: time.interval.map(|it| it.low),
        high_ns: time.interval.map(|it| it.high),
        num_trials: time.samples as u64,
        full_id: row.full_id().to_owned(),
    })
}

fn extra(operation: &Operation<'_>, roofs: &Roofs) -> Map<String, Value> {
    let Operation { key, time, row, .. } = operation;
    let record = &row.record;
    let bounds = |interval: Option<Interval>| interval.map(|it| [it.low, it.high]);
    let milliseconds = |it: Interval| [it.low / 1e6, it.high / 1e6];
    let attainable = roofs.roof(key).and_then(|it| it.attainable_gflops(operation.intensity()));
    let mut extra = params([
        ("operation", json!(key.probe)),
        ("dtype", json!(key.dtype)),
        ("device", json!(key.device)),
        ("threads", json!(key.threads)),
        ("median_latency_ms", json!(time.median_ns / 1e6)),
        ("median_latency_ms_interval", json!(time.interval.map(milliseconds))),
        ("confidence_level", json!(time.confidence_level)),
        ("implementation", json!(record.kernels.join(", "))),
        ("cautions", json!(fusion::cautions(Some(row)))),
        ("full_id", json!(record.full_id)),
        ("run_id", json!(record.run_id)),
    ]);
    if key.probe.is_product() {
        extra.extend(params([
            ("matrix_size", json!(key.size)),
            ("measured_gflops_interval", json!(bounds(operation.gflops().interval))),
            ("attainable_gflops", json!(attainable)),
        ]));
    } else {
        extra.extend(params([
            ("array_bytes", json!(key.size)),
            ("passes", json!(operation.passes)),
            ("level", json!(roofs.memory.level(key).and_then(Level::name))),
            ("achieved_bandwidth_gbps_interval", json!(bounds(operation.gbps().interval))),
        ]));
    }
    extra
}

fn without_speedup(count: usize) -> Option<String> {
    (count > 0).then(|| {
        format!(
            "{} without a speed-up skipped in the profile; `criterion-report fusion` says why",
            units::count(count, "fusion case")
        )
    })
}

/// Why two forms of one attention differ.
fn dispatch(results: &[FusionResult<'_>]) -> Option<String> {
    let [without_heads, with_heads] = sdpa_dispatch(&results.iter().collect::<Vec<_>>())?;
    Some(format!(
        "`sdpa-3d` and `fused` of FullAttention_SDPA differ by the kernel, not by fusing: without \
         an axis of heads libtorch runs {without_heads}, with one {with_heads}"
    ))
}

/// The checks of the machine before the runs of the profile, each once.
fn findings(report: &Report, run_ids: &BTreeSet<String>) -> Vec<Finding> {
    let run_ids: HashSet<&str> = run_ids.iter().map(String::as_str).collect();
    let findings = report.runs.findings(&run_ids).into_iter();
    let finding = findings.map(|(run, check)| Finding {
        check: check.clone(),
        target: run.target.clone(),
        run_id: run.run_id.clone(),
    });
    finding.collect()
}

fn metadata(operations: &[Operation<'_>], request: &Request<'_>) -> Metadata {
    let samples: BTreeSet<usize> =
        operations.iter().map(|operation| operation.time.samples).sorted_set();
    let same = samples.first().filter(|_| samples.len() == 1);
    let newest = newest(operations).map(|operation| &operation.row.record);
    let environment = newest.map(|record| &record.environment);
    Metadata {
        hardware_name: request.hardware.to_owned(),
        calibration_date: units::rfc3339(newest.map_or(0, |record| record.timestamp)),
        calibration_tool_version: concat!("criterion-report ", env!("CARGO_PKG_VERSION"))
            .to_owned(),
        cpu_model: environment.map(|it| it.host.cpu_model.clone()).unwrap_or_default(),
        cpu_count: environment.map_or(0, |it| it.host.cpus),
        total_memory_gb: environment
            .map_or(0.0, |it| it.host.memory_bytes as f64 / f64::from(1 << 30)),
        python_version: None,
        pytorch_version: environment.map(|it| it.torch.libtorch.clone()),
        numpy_version: None,
        num_warmup_runs: None,
        num_measurement_runs: same.map(|&samples| samples as u64),
    }
}

fn rows<'a>(operations: &[Operation<'a>], results: &[FusionResult<'a>]) -> Vec<&'a Row> {
    let fusions = results.iter().flat_map(|it| [Some(it.entry.row), it.entry.baseline]).flatten();
    operations.iter().map(|it| it.row).chain(fusions).collect()
}

fn circumstances(rows: &[&Row]) -> Option<String> {
    let several = Circumstances::of(rows.iter().copied()).len();
    (several > 1).then(|| {
        format!(
            "the rows are of {several} circumstances: machine, libtorch, compiler or git revision \
             differ (`criterion-report show` lists them); --latest skips earlier runs"
        )
    })
}

//! The file of a profile: the schema of branes-ai/graphs' calibrations field for field, then ours.

use std::collections::BTreeMap;

use plan::{Check, Device, Environment, Probe};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::fusion;
use super::limit::{Limit, PeakSource, Spread};
use super::memory::{Level, LevelBandwidth};
use super::operation::Operation;
use super::preset::Precision;
use super::request::Request;
use super::roofs::{Roofline, Roofs};
use super::select::newest;
use crate::model::{Interval, Speedup};
use crate::order::Sorted as _;
use crate::render::object::{document, map};
use crate::render::units;
use crate::views::{Accounting, FusionResult, PatternAdvice, saved};

document! {
    /// A profile. Fields up to `fusion_profiles` are upstream's, in its order, and so are the keys of
    /// the objects in them: its loader takes neither more nor fewer. Values that it has no field for
    /// are in `extra_params` and in the fields after them, which it ignores.
    #[derive(Debug, Clone, PartialEq, Deserialize)]
    pub struct Profile = of(
        request: &Request<'_>,
        device: Device,
        operations: &[Operation<'_>],
        results: &[FusionResult<'_>],
        roofs: Roofs,
        fusion_profiles: BTreeMap<String, FusionCalibration>
    ) [
        probes = operations.iter().filter(|it| it.key.probe.is_product() || it.key.probe.is_stream());
        profiles = probes
            .map(|it| (it.key.to_string(), OperationCalibration::of(it, &roofs)))
            .sorted_map();
        compute = operations.iter().filter(|it| roofs.is_headline(&it.key));
        compute = compute.map(|it| &profiles[&it.key.to_string()]).collect::<Vec<_>>();
        gflops = Spread::of(compute.iter().map(|profile| profile.measured_gflops));
        efficiency = Spread::of(compute.iter().filter_map(|profile| profile.efficiency));
        memory = match roofs.memory_threads {
            0 => Limit::new(None, request.bandwidth()),
            threads => roofs.bandwidth(threads),
        };
        measured_bandwidth = memory.as_ref().and_then(|it| Some(it.measured.as_ref()?.value));
        taken = |limit: Limit| (limit.value, limit.source);
        peak = roofs.headline.as_ref().map(|roof| taken(roof.peak_gflops.clone()));
        (peak, peak_source) = peak.or_else(|| request.peak(Precision::Float32)).unzip();
        (bandwidth, bandwidth_source) = memory.map(taken).unzip();
        of_probe = |is: fn(&Probe) -> bool| operations.iter().filter(move |it| is(&it.key.probe));
    ] {
        /// The machine and the tool.
        pub metadata: Metadata = Metadata::of(operations, request),
        /// Peak of float32 products in GFLOP/s, on the most threads that its products ran on; null if it was
        /// neither measured nor given.
        pub theoretical_peak_gflops: Option<f64> = peak,
        /// Bandwidth of memory in GB/s, on the most threads that STREAM's operations ran on; null if it was
        /// neither measured nor given.
        pub theoretical_bandwidth_gbps: Option<f64> = bandwidth,
        /// Highest GFLOP/s of the float32 products on the most threads.
        #[serde(default)]
        pub best_measured_gflops: Option<f64> = gflops.map(|it| it.best),
        /// Mean of the same.
        #[serde(default)]
        pub avg_measured_gflops: Option<f64> = gflops.map(|it| it.mean),
        /// Lowest of the same.
        #[serde(default)]
        pub worst_measured_gflops: Option<f64> = gflops.map(|it| it.worst),
        /// GB/s of the best of STREAM's operations in memory.
        #[serde(default)]
        pub measured_bandwidth_gbps: Option<f64> = measured_bandwidth,
        /// Its share of `theoretical_bandwidth_gbps`.
        #[serde(default)]
        pub bandwidth_efficiency: Option<f64> =
            measured_bandwidth.zip(bandwidth).map(|(it, peak)| it / peak),
        /// Highest efficiency of the same products, a share of the peak.
        #[serde(default)]
        pub best_efficiency: Option<f64> = efficiency.map(|it| it.best),
        /// Mean of the same.
        #[serde(default)]
        pub avg_efficiency: Option<f64> = efficiency.map(|it| it.mean),
        /// Lowest of the same.
        #[serde(default)]
        pub worst_efficiency: Option<f64> = efficiency.map(|it| it.worst),
        /// Products and STREAM's operations, by keys such as
        /// `matmul_device=cpu_dtype=float32_size=1024_threads=2` and `copy_device=…_size=256MiB_…`.
        #[serde(default)]
        pub operation_profiles: BTreeMap<String, OperationCalibration> = profiles,
        /// Every pattern against its unfused form, by keys such as
        /// `Linear_Bias_device=cpu_dtype=float32_shape=512x1024x1024_threads=2_variant=fused`, with `allocator=`
        /// and `cache=` before `device` if they are not the usual ones. Older files have none. Besides, by the
        /// name of a pattern alone, as upstream looks it up: a copy of its largest `fused` in float32 on the most
        /// threads, contiguous, with one head and no mask; none where that one has no speed-up.
        #[serde(default)]
        pub fusion_profiles: BTreeMap<String, FusionCalibration> = fusion_profiles,

        /// `criterion-torch/calibration`. Upstream's files lack this field and all that follow.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub schema: Option<String> = Some(Self::SCHEMA.to_owned()),
        /// 1; a newer one is refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub version: Option<u32> = Some(Self::VERSION),
        /// Sources of the two theoretical figures.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub peak_source: Option<PeakSources> =
            Some(PeakSources { gflops: peak_source, bandwidth: bandwidth_source }),
        /// Peaks and ridge point per dtype and number of threads.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub rooflines: Vec<Roofline> = roofs.all,
        /// Bandwidth of memory and of each cache, per number of threads.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub bandwidth_by_level: Vec<LevelBandwidth> = roofs.memory.by_level(device),
        /// Kernels that do next to nothing.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub launch_latencies: Vec<LaunchLatency> =
            of_probe(|it| *it == Probe::Launch).map(LaunchLatency::of).collect(),
        /// Calls of an operation on one element.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub call_overheads: Vec<CallOverhead> = of_probe(Probe::is_call).map(CallOverhead::of).collect(),
        /// Per place and pattern, as `strategy` of `criterion-report fusion --format json`; besides, each
        /// variant has `speedups`, the evidence of all its cases.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", schemars(with = "Vec<Map<String, Value>>"))]
        pub fusion_strategy: Vec<PatternAdvice> = PatternAdvice::all(results),
        /// Machine, library and working tree of the last operation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub environment: Option<Environment> =
            newest(operations).map(|it| (*it.row.record.environment).clone()),
        /// The checks of the machine before these runs, each once with its worst answer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub preflight_checks: Vec<Finding> = Vec::new(),
        /// The runs.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub run_ids: Vec<String> = Vec::new(),
        /// Notes for readers of the numbers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub notes: Vec<String> = Vec::new(),
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    #[serde(flatten)]
    pub check: Check,
    /// The bench target of the run.
    pub target: String,
    /// The run.
    pub run_id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PeakSources {
    /// `measured`, `given` or `preset NAME`.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub gflops: Option<PeakSource>,
    /// Source of the bandwidth: `measured`, `given` or `preset NAME`.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub bandwidth: Option<PeakSource>,
}

document! {
    #[derive(Debug, Clone, PartialEq, Deserialize)]
    pub struct Metadata = of(operations: &[Operation<'_>], request: &Request<'_>) [
        newest = newest(operations).map(|operation| &operation.row.record);
        environment = newest.map(|record| &record.environment);
        host = environment.map(|environment| &environment.host);
        samples = operations.iter().map(|it| it.time.samples as u64).sorted_set();
    ] {
        /// `--hardware`, or the product that the preset names.
        pub hardware_name: String = request.hardware.to_owned(),
        /// When the last operation ended, RFC 3339 in UTC; upstream's has no zone.
        pub calibration_date: String = units::rfc3339(newest.map_or(0, |record| record.timestamp)),
        /// `criterion-report` and its version.
        pub calibration_tool_version: String =
            concat!("criterion-report ", env!("CARGO_PKG_VERSION")).to_owned(),
        /// Model of the processor; upstream's is an architecture.
        pub cpu_model: String = host.map(|it| it.cpu_model.clone()).unwrap_or_default(),
        /// Logical CPUs that the process may use; upstream counts cores.
        pub cpu_count: u32 = host.map_or(0, |it| it.cpus),
        /// Physical memory in units of 2³⁰ bytes.
        pub total_memory_gb: f64 =
            host.map_or(0.0, |it| it.memory_bytes as f64 / f64::from(1 << 30)),
        /// Null: no Python is involved.
        pub python_version: Option<String> = None,
        /// libtorch's version.
        #[serde(default)]
        pub pytorch_version: Option<String> = environment.map(|it| it.torch.libtorch.clone()),
        /// Null: no Python is involved.
        #[serde(default)]
        pub numpy_version: Option<String> = None,
        /// Null: warming up takes a time, not a number of runs.
        #[serde(default)]
        pub num_warmup_runs: Option<u64> = None,
        /// Samples, if every operation has as many; else null.
        #[serde(default)]
        pub num_measurement_runs: Option<u64> =
            samples.first().filter(|_| samples.len() == 1).copied(),
    }

    #[derive(Debug, Clone, PartialEq, Deserialize)]
    pub struct OperationCalibration = of(operation: &Operation<'_>, roofs: &Roofs) [
        Operation { key, time, .. } = operation;
        intensity = operation.intensity();
        memory_bound = roofs.roof(key).and_then(|roof| roof.is_memory_bound(intensity));
        shape = match key.probe {
            Probe::Matmul | Probe::MatmulOnednn => vec![key.size, key.size],
            _ => vec![key.size / key.dtype.bytes()],
        };
    ] {
        /// `matmul`, by whichever library; `copy`, `scale`, `add`, `triad`. Upstream stores its copy as `add`.
        // It is upstream's word, whichever library computes it; `operation` in `extra_params` says that.
        pub operation_type: String =
            if key.probe.is_product() { Probe::Matmul } else { key.probe }.to_string(),
        /// GFLOP/s at the median time; upstream's is at the mean.
        pub measured_gflops: f64 = operation.gflops().value,
        /// For a product, its share of the peak of its dtype and threads; for a bandwidth, its share of the peak
        /// of its level. Null if the level is unclear.
        pub efficiency: Option<f64> = roofs.efficiency(operation),
        /// GB/s at the median time.
        pub achieved_bandwidth_gbps: f64 = operation.gbps().value,
        /// Whether the intensity is below the ridge point of its dtype and threads; null without one.
        pub memory_bound: Option<bool> = memory_bound,
        /// The opposite.
        pub compute_bound: Option<bool> = memory_bound.map(|memory| !memory),
        /// flop/byte.
        pub arithmetic_intensity: f64 = intensity,
        /// 1.
        pub batch_size: u64 = 1,
        /// Shape of one operand.
        pub input_shape: Vec<u64> = shape.clone(),
        /// Shape of the result.
        pub output_shape: Vec<u64> = shape,
        /// Mean of criterion's samples in milliseconds; each sample is an average over its steps.
        pub mean_latency_ms: f64 = time.mean_ns / 1e6,
        /// Their standard deviation.
        pub std_latency_ms: f64 = time.std_dev_ns / 1e6,
        /// The fastest of them.
        pub min_latency_ms: f64 = time.fastest_ns / 1e6,
        /// The slowest of them.
        pub max_latency_ms: f64 = time.slowest_ns / 1e6,
        /// Samples.
        pub num_trials: u64 = time.samples as u64,
        /// `operation`, `dtype`, `device`, `threads` in force, `median_latency_ms` with `_interval`,
        /// `confidence_level`, `implementation` (kernels), `cautions`, `full_id`, `run_id`. Products have
        /// `matrix_size`, `measured_gflops_interval` and `attainable_gflops`; bandwidths have `array_bytes`,
        /// `passes`, `level` and `achieved_bandwidth_gbps_interval`.
        #[serde(default)]
        pub extra_params: Map<String, Value> = extra(operation, roofs),
    }

    #[derive(Debug, Clone, PartialEq, Deserialize)]
    pub struct FusionCalibration = of(result: &FusionResult<'_>, speedup: &Speedup, roofs: &Roofs) [
        [unfused_ms, fused_ms] =
            result.sides().map(|row| Some(row?.time.as_ref().ok()?.median_ns / 1e6));
        [unfused_gflops, fused_gflops] = result.sides().map(|row| row?.gflop_per_s());
        bytes = result.bytes(Accounting::Upstream);
        operators = fusion::operators(result);
    ] {
        /// Upstream's name of the pattern.
        pub fusion_pattern: String = result.key.work.pattern.upstream().to_owned(),
        /// The operations of the unfused form, in order.
        pub operators: Vec<String> = operators.clone(),
        /// Their number.
        pub num_operators: u64 = operators.len() as u64,
        /// Median in milliseconds; null if criterion's estimate does not belong to this measurement.
        pub unfused_latency_ms: Option<f64> = unfused_ms,
        /// GFLOP/s at that median.
        pub unfused_gflops: Option<f64> = unfused_gflops,
        /// Its bytes by upstream's formula.
        pub unfused_memory_bytes: Option<u64> = bytes[0],
        /// Median in milliseconds, as above.
        pub fused_latency_ms: Option<f64> = fused_ms,
        /// GFLOP/s at that median.
        pub fused_gflops: Option<f64> = fused_gflops,
        /// Its bytes by upstream's formula; null for variants that upstream lacks.
        pub fused_memory_bytes: Option<u64> = bytes[1],
        /// Speed-up from pairs, not the quotient of the medians.
        pub speedup_factor: f64 = speedup.ratio,
        /// 1 − fused/unfused bytes, by formula.
        pub memory_reduction: Option<f64> = saved(bytes),
        /// `speedup_factor` − 1: both forms do the same operations.
        pub gflops_improvement: f64 = speedup.gflops_improvement(),
        /// Shape of the input, as upstream has it.
        pub input_shape: Vec<u64> = result.key.work.input_shape(),
        /// Keys of a result of `criterion-report fusion --format json`, under the same names: which case it is,
        /// interval and benefit of the speed-up, bytes and allocations of both forms with their reductions,
        /// kernels, cautions. `threads` is the number in force. Besides: `unfused_samples`, `fused_samples`,
        /// `unfused_efficiency` and `fused_efficiency` (share of the roof; above 1 refutes the peak).
        #[serde(default)]
        pub extra_params: Map<String, Value> = fusion::extra(result, roofs),
        /// Blocks of pairs behind the speed-up.
        pub num_trials: u64 = speedup.blocks as u64,
    }

    /// Time of a kernel that does next to nothing. It is no operation with a limit to be measured by.
    #[derive(Debug, Clone, PartialEq, Deserialize)]
    pub struct LaunchLatency = of(operation: &Operation<'_>) [
        Operation { key, row, time, .. } = operation;
        measures = &row.record.measures;
    ] {
        /// The device that it ran on.
        pub device: Device = key.device,
        /// Intra-op threads in force.
        pub threads: u32 = key.threads,
        /// The host's time for queueing it, in microseconds: the latency of a launch where work is
        /// queued.
        pub queue_us: Option<f64> = measures.clocks.map(|clocks| clocks.queue_ns / 1e3),
        /// From the call until the host knows that it is done, in microseconds.
        pub round_trip_us: Option<f64> = measures.latency.map(|latency| latency.p50_ns / 1e3),
        /// Median of the time that it takes the device, in microseconds; the harness hides queueing.
        pub median_us: f64 = time.median_ns / 1e3,
        /// Lower bound of it; null in quick mode.
        pub low_us: Option<f64> = time.interval.map(|it| it.low / 1e3),
        /// Upper bound of it; null in quick mode.
        pub high_us: Option<f64> = time.interval.map(|it| it.high / 1e3),
        /// Criterion's samples.
        pub num_trials: u64 = time.samples as u64,
        /// Criterion's id.
        pub full_id: String = row.full_id().to_owned(),
    }

    /// Time of a call of an operation on one element: the way there, eagerly or into a package that was
    /// compiled of it. It is no operation with a limit to be measured by.
    #[derive(Debug, Clone, PartialEq, Deserialize)]
    pub struct CallOverhead = of(operation: &Operation<'_>) [
        Operation { key, row, time, .. } = operation;
    ] {
        /// `call`, eagerly; `compiled_call`.
        pub probe: Probe = key.probe,
        /// The device that it ran on.
        pub device: Device = key.device,
        /// Intra-op threads in force.
        pub threads: u32 = key.threads,
        /// Nanoseconds that the host takes to queue it: the call, where work is queued; null on the host.
        pub queue_ns: Option<f64> = row.record.measures.clocks.map(|clocks| clocks.queue_ns),
        /// Median of the time that it takes the device, in nanoseconds: on the host the call, elsewhere
        /// the work alone, for the harness hides queueing.
        pub median_ns: f64 = time.median_ns,
        /// Lower bound of it; null in quick mode.
        pub low_ns: Option<f64> = time.interval.map(|it| it.low),
        /// Upper bound of it; null in quick mode.
        pub high_ns: Option<f64> = time.interval.map(|it| it.high),
        /// Criterion's samples.
        pub num_trials: u64 = time.samples as u64,
        /// Criterion's id.
        pub full_id: String = row.full_id().to_owned(),
    }
}

/// Figures that upstream's schema of an operation has no field for.
fn extra(operation: &Operation<'_>, roofs: &Roofs) -> Map<String, Value> {
    let Operation { key, time, row, .. } = operation;
    let record = &row.record;
    let bounds = |interval: Option<Interval>| interval.map(|it| [it.low, it.high]);
    let milliseconds = |it: Interval| [it.low / 1e6, it.high / 1e6];
    let attainable = roofs.roof(key).and_then(|it| it.attainable_gflops(operation.intensity()));
    let mut extra = map([
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
        extra.extend(map([
            ("matrix_size", json!(key.size)),
            ("measured_gflops_interval", json!(bounds(operation.gflops().interval))),
            ("attainable_gflops", json!(attainable)),
        ]));
    } else {
        extra.extend(map([
            ("array_bytes", json!(key.size)),
            ("passes", json!(operation.passes)),
            ("level", json!(roofs.memory.level(key).and_then(Level::name))),
            ("achieved_bandwidth_gbps_interval", json!(bounds(operation.gbps().interval))),
        ]));
    }
    extra
}

impl OperationCalibration {
    /// The operation's name. Upstream stores its copy as `add` and says so elsewhere.
    pub fn name(&self) -> &str {
        let operation = self.extra_params.get("operation").and_then(Value::as_str);
        operation.unwrap_or(&self.operation_type)
    }

    pub(super) fn is_bandwidth(&self) -> bool {
        self.name().parse().is_ok_and(|probe: Probe| probe.is_stream())
    }

    /// `1024` of matrices, `256MiB` of arrays.
    pub fn size_name(&self) -> String {
        let param = |name: &str| self.extra_params.get(name).and_then(Value::as_u64);
        if let Some(size) = param("matrix_size") {
            return size.to_string();
        }
        let bytes =
            param("array_bytes").or_else(|| Some(param("size_mb")?.saturating_mul(1 << 20)));
        match bytes {
            Some(bytes) => Probe::Copy.size_name(bytes),
            None => self.input_shape.iter().map(u64::to_string).collect::<Vec<_>>().join("x"),
        }
    }
}

impl FusionCalibration {
    /// Whether one of its forms exceeds the roof of its dtype on its threads.
    pub fn is_above_roof(&self) -> bool {
        let above = |side: &str| self.extra_params.get(side).and_then(Value::as_f64) > Some(1.0);
        above("unfused_efficiency") || above("fused_efficiency")
    }
}

//! The file of a profile: the schema of branes-ai/graphs' calibrations field for field, then ours.

use std::collections::BTreeMap;

use plan::{Check, Device, Environment, Probe};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::roofline::{Best, PeakSource, Roofline};
use crate::model::PatternAdvice;

/// A profile. Fields up to `fusion_profiles` are upstream's, in its order, and so are the keys of
/// the objects in them: its loader takes neither more nor fewer. Values that it has no field for
/// are in `extra_params` and in the fields after them, which it ignores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    pub metadata: Metadata,
    /// GFLOP/s that efficiencies of products are relative to.
    pub theoretical_peak_gflops: Option<f64>,
    /// GB/s that efficiencies of memory are relative to.
    pub theoretical_bandwidth_gbps: Option<f64>,
    /// Highest GFLOP/s of a product.
    #[serde(default)]
    pub best_measured_gflops: Option<f64>,
    #[serde(default)]
    pub avg_measured_gflops: Option<f64>,
    #[serde(default)]
    pub worst_measured_gflops: Option<f64>,
    #[serde(default)]
    pub measured_bandwidth_gbps: Option<f64>,
    /// That, relative to the theoretical one.
    #[serde(default)]
    pub bandwidth_efficiency: Option<f64>,
    #[serde(default)]
    pub best_efficiency: Option<f64>,
    #[serde(default)]
    pub avg_efficiency: Option<f64>,
    #[serde(default)]
    pub worst_efficiency: Option<f64>,
    #[serde(default)]
    pub operation_profiles: BTreeMap<String, OperationCalibration>,
    /// Every pattern against its unfused form, by its key; older files have none.
    #[serde(default)]
    pub fusion_profiles: BTreeMap<String, FusionCalibration>,

    /// The schema, [`Profile::SCHEMA`]; absent in upstream's files, as are all fields that follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_source: Option<PeakSources>,
    /// Peaks and ridge point per dtype and number of threads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rooflines: Vec<Roofline>,
    /// Bandwidth of memory and of each cache, per number of threads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bandwidth_by_level: Vec<LevelBandwidth>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub launch_latencies: Vec<LaunchLatency>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub call_overheads: Vec<CallOverhead>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fusion_strategy: Vec<PatternAdvice>,
    /// Machine, library and working tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
    /// The checks of the machine before the runs that measured the profile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preflight_checks: Vec<Finding>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run_ids: Vec<String>,
    /// Notes for readers of the numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

pub(super) fn params<const N: usize>(entries: [(&str, Value); N]) -> Map<String, Value> {
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

impl Profile {
    pub const SCHEMA: &str = "criterion-torch/calibration";
    /// The version that this code writes, and the newest that it reads.
    pub const VERSION: u32 = 1;
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    #[serde(flatten)]
    pub check: Check,
    /// The bench target of the run.
    pub target: String,
    pub run_id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeakSources {
    pub gflops: Option<PeakSource>,
    pub bandwidth: Option<PeakSource>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    pub hardware_name: String,
    /// When the last operation ended, in UTC; upstream's has no zone.
    pub calibration_date: String,
    pub calibration_tool_version: String,
    /// Model of the processor; upstream's is an architecture.
    pub cpu_model: String,
    /// CPUs: logical ones that the process may use; upstream's are cores.
    pub cpu_count: u32,
    /// Physical memory in units of 2³⁰ bytes.
    pub total_memory_gb: f64,
    /// Null: no Python is involved.
    pub python_version: Option<String>,
    /// libtorch's version.
    #[serde(default)]
    pub pytorch_version: Option<String>,
    /// Null.
    #[serde(default)]
    pub numpy_version: Option<String>,
    /// Null: warming up takes a time, not a number of runs.
    #[serde(default)]
    pub num_warmup_runs: Option<u64>,
    /// Samples, where every operation has as many; null where they differ.
    #[serde(default)]
    pub num_measurement_runs: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationCalibration {
    /// `matmul`, by whichever library; `copy`, `scale`, `add`, `triad`.
    pub operation_type: String,
    /// GFLOP/s at the median time; upstream's is at the mean.
    pub measured_gflops: f64,
    /// Share of the limit that applies; null where none does.
    pub efficiency: Option<f64>,
    /// GB/s at the median time.
    pub achieved_bandwidth_gbps: f64,
    /// Whether the intensity is below the ridge point; null without one.
    pub memory_bound: Option<bool>,
    pub compute_bound: Option<bool>,
    /// flop/byte.
    pub arithmetic_intensity: f64,
    /// 1.
    pub batch_size: u64,
    /// Shape of one operand.
    pub input_shape: Vec<u64>,
    pub output_shape: Vec<u64>,
    pub mean_latency_ms: f64,
    pub std_latency_ms: f64,
    pub min_latency_ms: f64,
    pub max_latency_ms: f64,
    pub num_trials: u64,
    /// Values that upstream has no field for.
    #[serde(default)]
    pub extra_params: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FusionCalibration {
    /// Upstream's name of the pattern.
    pub fusion_pattern: String,
    /// The operations that are fused.
    pub operators: Vec<String>,
    pub num_operators: u64,
    pub unfused_latency_ms: Option<f64>,
    pub unfused_gflops: Option<f64>,
    /// Its bytes by upstream's formula.
    pub unfused_memory_bytes: Option<u64>,
    pub fused_latency_ms: Option<f64>,
    pub fused_gflops: Option<f64>,
    /// Its bytes by upstream's formula; null for a variant to which that does not apply.
    pub fused_memory_bytes: Option<u64>,
    pub speedup_factor: f64,
    /// 1 − fused/unfused bytes, by formula.
    pub memory_reduction: Option<f64>,
    /// `speedup_factor` − 1: both forms do the same operations.
    pub gflops_improvement: f64,
    pub input_shape: Vec<u64>,
    #[serde(default)]
    pub extra_params: Map<String, Value>,
    /// Measurements behind the speed-up.
    pub num_trials: u64,
}

/// Time of a kernel that does next to nothing. It is no operation with a limit to be measured by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LaunchLatency {
    pub device: Device,
    pub threads: u32,
    /// The host's time for queueing it, in microseconds: the latency of a launch where work is
    /// queued.
    pub queue_us: Option<f64>,
    /// From the call until the host knows that it is done, in microseconds.
    pub round_trip_us: Option<f64>,
    /// Median of the time that it takes the device, in microseconds; the harness hides queueing.
    pub median_us: f64,
    /// Lower bound of it; null in quick mode.
    pub low_us: Option<f64>,
    pub high_us: Option<f64>,
    pub num_trials: u64,
    pub full_id: String,
}

/// Time of a call of an operation on one element: the way there, eagerly or into a package that was
/// compiled of it. It is no operation with a limit to be measured by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallOverhead {
    /// `call`, eagerly; `compiled_call`.
    pub probe: Probe,
    pub device: Device,
    pub threads: u32,
    /// Nanoseconds that the host takes to queue it: the call, where work is queued; null on the host.
    pub queue_ns: Option<f64>,
    /// Median of the time that it takes the device, in nanoseconds: on the host the call, elsewhere
    /// the work alone, for the harness hides queueing.
    pub median_ns: f64,
    /// Lower bound of it; null in quick mode.
    pub low_ns: Option<f64>,
    pub high_ns: Option<f64>,
    pub num_trials: u64,
    pub full_id: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelBandwidth {
    pub device: Device,
    /// `L1`, `L2`, …, `memory`.
    pub level: String,
    pub threads: u32,
    /// GB/s of the best of STREAM's operations on arrays that lie there.
    pub gbps: Best,
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

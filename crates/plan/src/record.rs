//! What a run leaves on disk beside criterion's own files: one [`Record`] per case and run, and
//! one [`RunManifest`] per run. Schema versions are in the files; readers refuse newer ones.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::case::Case;

/// How a case ended. Every selected case ends in exactly one of these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Outcome {
    /// Checked and sampled.
    Measured,
    /// Checked once without sampling (`--test`), or run for a profiler (`--profile-time`).
    Tested,
    /// The machine lacks what the case needs.
    Skipped {
        /// What is missing, and what would mend it.
        reason: String,
    },
    /// No kernel or rule for this combination.
    Unsupported {
        /// The constraint, and the value that broke it.
        reason: String,
    },
    /// Memory ran out, or would have.
    Oom {
        /// What was asked for and what was there.
        reason: String,
    },
    /// A time limit passed.
    Timeout {
        /// Which limit.
        reason: String,
    },
    /// An error, a panic, or an output that fails its check.
    Failed {
        /// The error.
        error: String,
    },
}

impl Outcome {
    /// The one-word status, as written.
    pub const fn status(&self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Tested => "tested",
            Self::Skipped { .. } => "skipped",
            Self::Unsupported { .. } => "unsupported",
            Self::Oom { .. } => "oom",
            Self::Timeout { .. } => "timeout",
            Self::Failed { .. } => "failed",
        }
    }

    /// Why, where there is a why.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Measured | Self::Tested => None,
            Self::Skipped { reason }
            | Self::Unsupported { reason }
            | Self::Oom { reason }
            | Self::Timeout { reason } => Some(reason),
            Self::Failed { error } => Some(error),
        }
    }

    /// Whether something went wrong that the user has to look at. What the machine lacks, memory
    /// included, is no failure of the case.
    pub const fn is_failure(&self) -> bool {
        matches!(self, Self::Timeout { .. } | Self::Failed { .. })
    }
}

/// The last sample that criterion took of a case. It equals the last pair of `sample.json`
/// exactly when the estimates on disk come from this run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LastSample {
    /// Iterations in the sample.
    pub iters: u64,
    /// Nanoseconds of the whole sample.
    pub ns: u64,
}

/// Memory of one step, from libtorch's own reports of every allocation and free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepMemory {
    /// Highest live sum above what was live when the step began, the output included.
    pub peak_bytes: u64,
    /// Sum of all allocations.
    pub total_bytes: u64,
    /// Number of allocations.
    pub allocations: u64,
}

/// Memory of a case on its device, its three parts apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Storage of the model as it is run: quantized weights, scales, zero points, norms.
    pub weights_bytes: u64,
    /// Storage of the inputs.
    pub inputs_bytes: u64,
    /// The step's own.
    pub step: StepMemory,
}

impl Memory {
    /// Peak during a step: weights and inputs are live throughout.
    pub const fn peak_bytes(&self) -> u64 {
        self.weights_bytes + self.inputs_bytes + self.step.peak_bytes
    }
}

/// A number that may be infinite: JSON has no infinity, so it is written as a word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stat(pub f64);

impl Serialize for Stat {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            value if value.is_finite() => serializer.serialize_f64(value),
            value if value.is_nan() => serializer.serialize_str("nan"),
            value if value > 0.0 => serializer.serialize_str("inf"),
            _ => serializer.serialize_str("-inf"),
        }
    }
}

impl<'de> Deserialize<'de> for Stat {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Wire {
            Number(f64),
            Word(String),
        }
        match Wire::deserialize(deserializer)? {
            Wire::Number(value) => Ok(Self(value)),
            Wire::Word(word) => word.parse().map(Self).map_err(serde::de::Error::custom),
        }
    }
}

/// An output against its high-precision reference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    /// 20·log10(‖ref‖ / ‖ref − out‖) in dB; infinite when equal.
    pub sqnr_db: Stat,
    /// Largest |ref − out|.
    pub max_abs_error: Stat,
    /// ‖ref − out‖ / ‖ref‖.
    pub relative_error: Stat,
    /// The gate that the output had to pass, in dB.
    pub min_sqnr_db: f64,
    /// Rows of the output that were compared.
    pub rows_checked: u64,
}

/// The machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Host name.
    pub hostname: String,
    /// Operating system and kernel.
    pub os: String,
    /// CPU model name.
    pub cpu_model: String,
    /// Logical CPUs available to the process.
    pub cpus: u32,
    /// Physical memory.
    pub memory_bytes: u64,
}

/// The library that computes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TorchFacts {
    /// libtorch's version.
    pub libtorch: String,
    /// tch's version.
    pub tch: String,
    /// Instruction set that ATen dispatches to.
    pub cpu_capability: String,
    /// Intra-op threads in force while the case ran.
    pub threads: u32,
    /// Precision of float32 matrix products (`highest`: no TF32).
    pub float32_matmul_precision: String,
    /// CUDA version of libtorch's build, where linked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuda: Option<String>,
    /// Name of the CUDA device, for a CUDA case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuda_device: Option<String>,
}

/// The circumstances without which a number is not stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// The machine.
    pub host: HostFacts,
    /// The library.
    pub torch: TorchFacts,
    /// Host allocator in force while the case ran.
    pub allocator: String,
    /// Git revision of the working tree, `-dirty` appended; absent outside a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_revision: Option<String>,
    /// Compiler that built the benchmark.
    pub rustc: String,
}

/// One line of `target/criterion-torch/<baseline>/<target>.jsonl`: a case as it went in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Version of this schema.
    pub version: u32,
    /// Criterion's `full_id`, the key.
    pub full_id: String,
    /// The run that wrote it.
    pub run_id: String,
    /// Seconds since the Unix epoch when the case ended.
    pub timestamp: u64,
    /// The case as it was planned.
    pub case: Case,
    /// How it ended.
    pub outcome: Outcome,
    /// ATen ops and own kernels that did the work; empty when nothing ran.
    #[serde(default)]
    pub kernels: Vec<String>,
    /// What criterion saw last; absent unless measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_sample: Option<LastSample>,
    /// Memory; absent unless the step ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// Accuracy; absent unless the step ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<Accuracy>,
    /// Things a reader of the numbers should know.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Circumstances.
    pub environment: Environment,
}

impl Record {
    /// The schema version this code writes.
    pub const VERSION: u32 = 1;
}

/// `target/criterion-torch/runs/<run-id>.json`: what a run was asked for and how it went. Beside
/// it, `<run-id>.running` holds the id of the case that is running, so that a crash has a name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunManifest {
    /// Version of this schema.
    pub version: u32,
    /// Unique name of the run.
    pub run_id: String,
    /// Bench target.
    pub target: String,
    /// Name of the baseline that criterion saved under; absent when it saved nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Seconds since the Unix epoch.
    pub started: u64,
    /// Seconds since the Unix epoch; absent while running or after a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<u64>,
    /// Arguments of the process.
    pub args: Vec<String>,
    /// `full_id`s that the filter selected.
    pub selected: Vec<String>,
    /// Cases by status.
    pub outcomes: BTreeMap<String, u64>,
}

impl RunManifest {
    /// The schema version this code writes.
    pub const VERSION: u32 = 1;
}

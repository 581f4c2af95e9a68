//! How a case is measured: the keys of our own, all optional, and upstream's training keys.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::words::closed::schema_is;
use crate::words::{Allocator, CacheMode, Judge, Regime, ScalingGranularity, ScalingType};

/// How much criterion samples. A flag on the command line wins over each of these.
///
/// The number of samples is planned from a pilot, unless it is fixed here: as many as the target
/// asks for and the budget allows.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sampling {
    /// Samples per case, at least 10; planned when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// Seconds that the warm-up may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up_s: Option<f64>,
    /// Seconds that sampling may take, and once more the pairs of a candidate with its baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measurement_s: Option<f64>,
    /// Half-width of the 95 % intervals to aim at, relative to the value: of the median and of the
    /// speed-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<f64>,
    /// The load under which a CUDA device is measured; `burst` when absent. Other devices ignore it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regime: Option<Regime>,
}

impl Sampling {
    /// The regime, which is `burst` unless it is given.
    pub fn regime(&self) -> Regime {
        self.regime.unwrap_or(Regime::Burst)
    }
}

/// Threads inside one operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// A fixed number.
    Count(u32),
    /// One per CPU that the process has when it runs.
    All,
}

impl Threads {
    /// How many these are where the process may use `cpus`.
    pub fn resolve(self, cpus: u32) -> u32 {
        match self {
            Self::Count(count) => count,
            Self::All => cpus.max(1),
        }
    }

    /// The variant that distinguishes siblings: `1-thread`, `8-threads`, `all-threads`.
    pub fn variant(self) -> String {
        match self {
            Self::Count(1) => "1-thread".to_owned(),
            _ => format!("{self}-threads"),
        }
    }
}

impl fmt::Display for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::All => f.write_str(ALL_THREADS),
        }
    }
}

/// [`Threads::All`] in configs and files.
pub(crate) const ALL_THREADS: &str = "all";

/// A number, or the word.
impl Serialize for Threads {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => serializer.serialize_u32(*count),
            Self::All => serializer.serialize_str(ALL_THREADS),
        }
    }
}

impl<'de> Deserialize<'de> for Threads {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Wire {
            Count(u32),
            Word(String),
        }
        match Wire::deserialize(deserializer)? {
            Wire::Count(count) => Ok(Self::Count(count)),
            Wire::Word(word) if word == ALL_THREADS => Ok(Self::All),
            Wire::Word(word) => Err(serde::de::Error::custom(format!(
                "threads `{word}` are neither a number nor `all`"
            ))),
        }
    }
}

schema_is!(
    Threads,
    schemars::json_schema!({
        "description": "Threads inside one operator: a number, or all that the process may use.",
        "oneOf": [{ "type": "integer", "minimum": 0 }, { "const": ALL_THREADS }],
    })
);

/// The pass that times single calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyPass {
    /// Calls; as many as fit a short time when absent, and where they are cheap as many as percentiles need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// Fewest calls in place of that short time: a kernel's `iterations.timed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fewest: Option<u64>,
    /// Calls before them that do not count; as many as fit a short time when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<u64>,
}

/// The pass that reads an energy counter, where the machine has one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EnergyPass {
    /// Whether it runs.
    pub enabled: bool,
    /// Seconds over which the counter is read; at least 1.
    pub window_s: f64,
    /// Whether the power of the idle machine is measured too, and subtracted.
    pub subtract_idle: bool,
}

impl Default for EnergyPass {
    fn default() -> Self {
        Self { enabled: true, window_s: 1.0, subtract_idle: false }
    }
}

/// The accuracy that `check` demands of an output before its speed may be measured.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tolerance {
    /// Smallest signal-to-quantization-noise ratio in dB; the recipe's own gate when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_sqnr_db: Option<f64>,
}

/// Traces asked for beside the timing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Profiling {
    /// `enable_profiler`: a Chrome trace.
    pub profiler: bool,
    /// `enable_memory_profiler`: a memory snapshot.
    pub memory: bool,
}

/// Everything about a case's measurement that its id does not say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Settings {
    /// Criterion's budget.
    pub sampling: Sampling,
    /// Single calls.
    #[serde(default)]
    pub latency: LatencyPass,
    /// Energy.
    #[serde(default)]
    pub energy: EnergyPass,
    /// Intra-op threads; 1 by default, as upstream.
    pub threads: Threads,
    /// Host allocator.
    pub allocator: Allocator,
    /// Cache state at the start of a step.
    pub cache: CacheMode,
    /// Seed of weights and inputs.
    pub seed: i64,
    /// Accuracy gate.
    pub tolerance: Tolerance,
    /// Whether another process judges a user's kernel.
    #[serde(default = "judge", skip_serializing_if = "Judge::is_on")]
    pub judge: Judge,
    /// Seconds that compiling a case may take.
    #[serde(default = "compile_timeout_s")]
    pub compile_timeout_s: f64,
    /// Seconds that a case may take, from building it to its last pair; no limit when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_timeout_s: Option<f64>,
    /// Upstream's `output_dir`, carried into its CSV.
    pub output_dir: String,
    /// Prose that the report prints beside the numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<String>,
    /// Present in training mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training: Option<TrainingSettings>,
}

/// The default; records of before had none.
const fn judge() -> Judge {
    Judge::On
}

/// The default: autotuning a whole transformer block takes minutes.
const fn compile_timeout_s() -> f64 {
    600.0
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sampling: Sampling::default(),
            latency: LatencyPass::default(),
            energy: EnergyPass::default(),
            threads: Threads::Count(1),
            allocator: Allocator::Retained,
            cache: CacheMode::Hot,
            seed: 42,
            tolerance: Tolerance::default(),
            judge: judge(),
            compile_timeout_s: compile_timeout_s(),
            case_timeout_s: None,
            output_dir: "benchmarks/microbenchmarks/results".to_owned(),
            analysis: None,
            training: None,
        }
    }
}

/// Upstream's keys of `benchmark_mode: training`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrainingSettings {
    /// Scaling of the input.
    pub scaling_type_input: ScalingType,
    /// Scaling of the weight.
    pub scaling_type_weight: ScalingType,
    /// Scaling of the output's gradient.
    pub scaling_type_grad_output: ScalingType,
    /// Scales per tensor.
    pub scaling_granularity: ScalingGranularity,
    /// Whether the product of the forward pass may accumulate in the tensor cores' reduced precision; a CPU
    /// has none. Upstream's harness never hands it on, and so measures torchao's default, true.
    pub use_fast_accum: bool,
    /// Steps inside one timed call upstream, which divides the call's time by it; kept for its CSV. Here criterion
    /// chooses how many steps a sample has, and the key changes nothing.
    pub repeat_n: u64,
}

impl TrainingSettings {
    /// The scaling types of input, weight and grad_output.
    pub const fn scaling_types(&self) -> [ScalingType; 3] {
        [self.scaling_type_input, self.scaling_type_weight, self.scaling_type_grad_output]
    }

    /// Whether operands are cast.
    pub fn casts(&self) -> bool {
        self.scaling_types() == [ScalingType::Dynamic; 3]
    }
}

impl Default for TrainingSettings {
    fn default() -> Self {
        Self {
            scaling_type_input: ScalingType::Dynamic,
            scaling_type_weight: ScalingType::Dynamic,
            scaling_type_grad_output: ScalingType::Dynamic,
            scaling_granularity: ScalingGranularity::Tensorwise,
            use_fast_accum: true,
            repeat_n: 100,
        }
    }
}

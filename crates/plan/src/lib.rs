#![doc = include_str!("../README.md")]
#![cfg_attr(
    not(feature = "configs"),
    allow(dead_code, reason = "some facts of a word are asked only by configs")
)]

#[cfg(feature = "architectures")]
pub mod architecture;
#[cfg(feature = "estimate")]
mod assignment;
pub mod budget;
mod case;
mod catalogue;
#[cfg(feature = "configs")]
mod config;
pub mod cost;
#[cfg(feature = "configs")]
mod diagnostic;
#[cfg(feature = "estimate")]
pub mod estimate;
pub mod exit;
#[cfg(feature = "configs")]
mod expand;
mod expression;
#[cfg(feature = "flags")]
pub mod flag;
pub mod git;
mod hash;
pub mod history;
mod id;
mod kernel;
#[cfg(feature = "configs")]
mod library;
mod linears;
pub mod lockstep;
pub mod recommendation;
mod record;
pub mod results;
mod settings;
mod shape;
mod shard;
#[cfg(feature = "configs")]
mod user;
mod variant;
mod words;
mod work;

#[cfg(feature = "estimate")]
pub use assignment::shards;
pub use case::{Case, CaseId, Group, Plan, Role, mode_of};
pub use catalogue::operator::{Implementation, Operator, OperatorShape, OperatorWork, Traffic};
pub use catalogue::pattern::{
    FusionShape, FusionVariant, FusionWork, MemoryFormat, Pattern, PatternFamily,
};
pub use catalogue::probe::{Probe, ProbeKind, ProbeWork};
pub use catalogue::{SizeSet, pattern};
#[cfg(feature = "configs")]
pub use config::{
    CalibrationParams, Config, FusionParams, KernelSuite, ModelParams, ModelStep, OperatorParams,
    Suite, shape_folders, usual_kernel_roots, yaml,
};
#[cfg(feature = "configs")]
pub use diagnostic::{Diagnostic, Diagnostics};
#[cfg(feature = "configs")]
pub use expand::{expand, load, read};
pub use expression::{Expression, ExpressionError, Fact, FactValue, Kind};
pub use hash::{fnv1a, fnv1a_128};
pub use history::HISTORY;
pub use id::{MAX_ID, MAX_PART, case_id, is_config};
pub use kernel::{KernelTolerances, KernelWork, OVERRIDE_VARIABLE, SkipCondition};
#[cfg(feature = "configs")]
pub use library::{Brings, CargoPackage, Library, Package};
pub use linears::{BLOCK_HEADS, BLOCK_TOKENS, LinearShape, ModelSizes};
pub use record::{
    Accuracy, Agreement, Cache, Check, CheckStatus, Clocks, Compilation, Conditions, Counters,
    CudaGraph, Energy, Environment, Gate, GpuCounters, HardwareCounters, HostFacts, JsonFloat,
    Judged, KernelFacts, LastSample, Latency, Measures, Memory, MemoryProfile, ModelFacts,
    OperationProfile, Outcome, Pair, PairAsCalled, Planned, Profile, ProfileFile, ProfileFileKind,
    Quiet, Range, Record, RunManifest, StepMemory, Stop, TensorAccuracy, TorchFacts, Utilization,
    WallTimes, Weights,
};
pub use settings::{
    EnergyPass, LatencyPass, Profiling, Sampling, Settings, Threads, Tolerance, TrainingSettings,
};
pub use shape::Shape;
pub use shard::{AskedShard, FoundShard, Partition, RunShard, Shard};
#[cfg(feature = "configs")]
pub use user::UserFiles;
pub use variant::Variant;
pub use words::*;
pub use work::{ModelWork, Work};

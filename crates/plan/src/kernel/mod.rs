//! A user's kernel: its files, and what a case of it runs.

#[cfg(feature = "configs")]
pub(crate) mod code;
#[cfg(feature = "configs")]
pub(crate) mod discovery;
#[cfg(feature = "configs")]
pub(crate) mod field;
#[cfg(feature = "configs")]
mod files;
#[cfg(feature = "configs")]
pub(crate) mod source;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[cfg(feature = "configs")]
pub(crate) use files::{Kernel, KernelFile};

/// The environment variable that says for one run what the key `override` of a config of kernels says, in JSON:
/// `{"iterations": {"timed": 10}}`. It holds in every config of kernels.
pub const OVERRIDE_VARIABLE: &str = "CRITERION_TORCH_OVERRIDE";

/// The work of a kernel case: one file of Rust, at one problem size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelWork {
    /// The kernel: its folder's name, or its file's stem.
    pub kernel: String,
    /// The file in the kernel's folder: `kernel`, the baseline, or the stem of another.
    pub implementation: String,
    /// The file, relative to its package, with `/`.
    pub file: String,
    /// Whether what is timed calls torch's operations, through tch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uses_torch: bool,
    /// The fields of the problem size that the `bench.yaml` gives, by name. The others have the
    /// kernel's own defaults.
    pub problem_size: BTreeMap<String, Value>,
    /// How far the output may be from its reference.
    #[serde(default)]
    pub tolerances: KernelTolerances,
    /// When it is not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skip_conditions: Vec<SkipCondition>,
    /// The author's own, carried into the report.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Value>,
}

impl KernelWork {
    /// The implementation that the others are compared with: the file `kernel.rs`, or the only one.
    pub const BASELINE: &str = "kernel";
}

/// Largest distances of an output from its reference, over all of its elements; those not given are
/// not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelTolerances {
    /// √(mean (out − ref)²)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rmse: Option<f64>,
    /// ‖out − ref‖₂ / ‖ref‖₂; takes the place of the dtype's signal-to-noise gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_error: Option<f64>,
    /// Largest |out − ref|.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_error: Option<f64>,
}

/// When a case is not run. Its backend and precision, where the `bench.yaml` names them, are those of
/// the case that holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SkipCondition {
    /// An expression over facts of the machine and the case; always, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// The author's own words.
    pub reason: String,
}

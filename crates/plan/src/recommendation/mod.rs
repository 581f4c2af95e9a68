//! The question of `cargo torch-bench recommend`, which `criterion-report recommend` answers: the linear layers of a model,
//! the phases that use them, and the objective.

mod block;
mod layers;
mod sensitivity;
mod weight;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::words::{Device, Dtype};
pub use block::Block;
pub use layers::{Attention, LinearLayers, ModelLayers, Module, Rows};
pub use sensitivity::{Numbers, Sensitivity};
pub use weight::{StoredWeight, WEIGHTS};

/// The value of `schema`.
pub const SCHEMA: &str = "criterion-torch/recommendation-request";
/// Counts incompatible changes.
pub const VERSION: u64 = 1;

/// The question: which recipe for which layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecommendationRequest {
    /// [`SCHEMA`]
    pub schema: String,
    /// [`VERSION`]
    pub version: u64,
    /// The model.
    pub model: ModelLayers,
    /// The forward passes of one request to the model.
    pub phases: Vec<Phase>,
    /// The aim of the choice.
    pub objective: Objective,
    /// The device that was measured.
    pub device: Device,
    /// The dtype of the unquantized model.
    pub dtype: Dtype,
    /// File stem of the config whose cases answer it.
    pub stem: String,
    /// Accuracy that was measured elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<Sensitivity>,
    /// The folder of the weights that accuracy was checked with; random weights if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<PathBuf>,
    /// When it was asked, in seconds since the Unix epoch: only later measurements answer it.
    #[serde(default)]
    pub asked: u64,
}

/// Forward passes of one size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Phase {
    /// `prefill` or `decode`, or another name.
    pub name: String,
    /// Tokens of each sequence in a pass.
    pub tokens: u64,
    /// Sequences in a pass.
    pub batch: u64,
    /// Passes of this size in a request.
    pub passes: u64,
}

/// The aim of a choice.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// The least time, with weights and products as accurate as asked for.
    Fastest,
    /// The fewest bytes of weights, with a time within this share of the least.
    Smallest {
        /// 0.05 allows 5 % more time.
        within: f64,
    },
    /// The least time with at most so many bytes of weights.
    Memory {
        /// Bytes of all linear layers.
        bytes: u64,
    },
}

/// The file of the last question, among the records.
pub fn file(records: &Path) -> PathBuf {
    records.join("recommendation-request.json")
}

#[cfg(test)]
mod tests;

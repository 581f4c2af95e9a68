//! Weights of a real model.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::words::Dtype;

/// The variable with the path of a JSON list of [`StoredWeight`]s. The accuracy of the model `linear` is checked with those
/// of its shape, too.
pub const WEIGHTS: &str = "CRITERION_TORCH_WEIGHTS";

/// The weight of a linear layer, in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredWeight {
    /// The file.
    pub file: PathBuf,
    /// Its name there.
    pub tensor: String,
    /// The dtype of the stored values, little-endian and row by row.
    pub dtype: Dtype,
    /// Bytes before the first value.
    pub start: u64,
    /// Output features.
    pub n: u64,
    /// Input features.
    pub k: u64,
    /// Whether it is stored as [k, n].
    pub transposed: bool,
}

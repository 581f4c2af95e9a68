//! What became of the weights of a case.

use serde::{Deserialize, Serialize};

/// The weights of a model's linear layers as they are stored; norms are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Weights {
    /// Linear layers of the model.
    pub linears: u64,
    /// Linear layers whose weight is quantized.
    pub quantized: u64,
    /// Bytes that they store: values, scales, zero points, indices of a sparse layout, padding.
    pub packed_bytes: u64,
    /// Bytes of the same weights dense in the case's high-precision dtype.
    pub baseline_bytes: u64,
    /// 8 · `packed_bytes` / number of weights.
    pub bits_per_weight: f64,
    /// Share of the weights that pruning left; absent for a dense layout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub density: Option<f64>,
}

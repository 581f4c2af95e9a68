//! Memory of a case.

use serde::{Deserialize, Serialize};

/// Memory of one step, from libtorch's own reports of every allocation and free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepMemory {
    /// Highest live sum above what was live when the step began, the output included.
    pub peak_bytes: u64,
    /// Sum of all allocations.
    pub total_bytes: u64,
    /// Number of allocations.
    pub allocations: u64,
}

/// Memory of a case on its device, its parts apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Memory {
    /// Storage of the model as it is run: quantized weights, scales, zero points, norms.
    pub weights_bytes: u64,
    /// Storage of the inputs.
    pub inputs_bytes: u64,
    /// Storage of the output where it is allocated beforehand; 0 where each step makes its own.
    #[serde(default)]
    pub outputs_bytes: u64,
    /// The step's own.
    pub step: StepMemory,
}

impl Memory {
    /// Peak during a step: weights, inputs and a preallocated output are live throughout.
    pub const fn peak_bytes(&self) -> u64 {
        self.weights_bytes
            .saturating_add(self.inputs_bytes)
            .saturating_add(self.outputs_bytes)
            .saturating_add(self.step.peak_bytes)
    }
}

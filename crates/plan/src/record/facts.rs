//! Facts of a case beside its times: memory, weights, kernel, compilation.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::accuracy::JsonFloat;
use crate::words::CompileMode;

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
    /// Bytes of activations that the forward pass keeps for the backward pass, the input among them; absent in inference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_bytes: Option<u64>,
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

/// Facts that a run finds out about a package's own model; those of built-in ones follow from the case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelFacts {
    /// Floating-point operations of a step, as the model says.
    pub flops: u64,
    /// Elements of the output.
    pub output_elements: u64,
}

/// Facts that a run finds out about a kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelFacts {
    /// The whole problem size, the kernel's own defaults included.
    pub problem_size: BTreeMap<String, Value>,
    /// Floating-point operations of a step, where the kernel says.
    pub flops: Option<u64>,
    /// Bytes that a step has to move, where the kernel says.
    pub bytes: Option<u64>,
    /// Whether the output was compared with a reference.
    pub has_reference: bool,
    /// Largest standard deviation (population) of an element of the output over `runs` runs on the
    /// same input: 0 where every run gives the same bits.
    pub determinism_std: Option<JsonFloat>,
    /// Runs that it is over.
    pub runs: u64,
}

/// How a case was compiled: never part of a timing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compilation {
    /// Mode of `torch.compile`.
    pub mode: CompileMode,
    /// Inductor's settings that differ from its defaults, by name.
    pub options: BTreeMap<String, Value>,
    /// The compiler and its target, e.g. `torch 2.11.0, g++ 12.2.0, AVX512 AVX512_VNNI`.
    pub compiler: String,
    /// Seconds that the compilation took, whenever that was.
    pub seconds: f64,
    /// Bytes of the package on disk.
    pub package_bytes: u64,
    /// Whether it was there already, of an earlier run.
    pub cache_hit: bool,
    /// Name in the cache.
    pub key: String,
    /// The CUDA graph that every step replays, where the mode asks for one. A package holds none: criterion-torch
    /// captured it around the package's run, before the clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuda_graph: Option<CudaGraph>,
}

/// A CUDA graph that criterion-torch captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CudaGraph {
    /// Runs on a side stream before the capture.
    pub warm_up_runs: u64,
    /// Bytes of the device that its own pool of memory took: outputs and everything between.
    pub pool_bytes: u64,
}

//! Operators: a function of a tensor, computed by one of its implementations; and what a step moves and
//! computes, by formula.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{COMPARED_BYTES, REFERENCE_ELEMENTS, product, sum};
use crate::words::closed::closed_set;
use crate::words::{CompileMode, Device, Dtype};

/// The facts about an operator on x `[batch, sequence, dim]`.
struct OperatorFacts {
    /// The name in results of the comprehensive operator benchmark, or one like it.
    upstream: &'static str,
    /// Tensors of x's size that it reads.
    tensors: u64,
    /// Vectors of the last dimension that it reads: w, b.
    vectors: u64,
    /// Whether it reads a class of each row, in int64.
    has_classes: bool,
    /// Whether its output is one number; else it is of x's size.
    is_loss: bool,
    /// Its implementations, the baseline first.
    implementations: &'static [Implementation],
    /// Floating-point operations of the formula for each element of x, each of them one, exp, erf,
    /// tanh, square root and the comparison of a maximum included; what is done once a row counts
    /// nothing.
    flops: u64,
}

const ALL: &[Implementation] = Implementation::ALL;
/// All but ATen's into a tensor that is allocated beforehand: RMSNorm has no such form; the mean of the
/// squared error resizes the output to the size of x; LayerNorm computes into tensors of its own, which
/// it copies.
const NO_OUT: &[Implementation] = &[
    Implementation::Aten,
    Implementation::AtenComposed,
    Implementation::Rust,
    Implementation::Cuda,
    Implementation::Triton,
    Implementation::Stream,
];

closed_set! {
    /// A function of a tensor `[batch, sequence, dim]`. A row is the last dimension. Upstream's
    /// names are in [`Operator::upstream`].
    Operator, "operator", OperatorFacts {
        /// (x − mean)/√(variance + 10⁻⁵)·w + b, over rows; the variance is the biased one.
        LayerNorm = "layer_norm" => OperatorFacts {
            upstream: "LayerNorm",
            tensors: 1, vectors: 2, has_classes: false, is_loss: false, implementations: NO_OUT,
            // Sum; difference, square, sum; and the difference again, scaled, · w + b.
            flops: 8,
        },
        /// Layer normalization without w and b.
        LayerNormNoAffine = "layer_norm_no_affine" => OperatorFacts {
            upstream: "LayerNorm_NoAffine",
            tensors: 1, vectors: 0, has_classes: false, is_loss: false, implementations: NO_OUT,
            flops: 6,
        },
        /// x/√(mean(x²) + 10⁻⁵)·w, over rows.
        RmsNorm = "rms_norm" => OperatorFacts {
            upstream: "RMSNorm",
            tensors: 1, vectors: 1, has_classes: false, is_loss: false, implementations: NO_OUT,
            // Square, sum; scale, · w.
            flops: 4,
        },
        /// x·Φ(x), with erf.
        Gelu = "gelu" => OperatorFacts {
            upstream: "GELU",
            tensors: 1, vectors: 0, has_classes: false, is_loss: false, implementations: ALL,
            // x/√2, erf, + 1, · x, / 2.
            flops: 5,
        },
        /// ½x(1 + tanh(√(2/π)(x + 0.044715x³))): another function, at most 5·10⁻⁴ away.
        GeluTanh = "gelu_tanh" => OperatorFacts {
            upstream: "GELU_Tanh",
            tensors: 1, vectors: 0, has_classes: false, is_loss: false, implementations: ALL,
            // x², · x, · 0.044715, + x, · √(2/π), tanh, + 1, · x, / 2.
            flops: 9,
        },
        /// x·σ(x), also known as Swish.
        Silu = "silu" => OperatorFacts {
            upstream: "Swish",
            tensors: 1, vectors: 0, has_classes: false, is_loss: false, implementations: ALL,
            // −x, exp, + 1, x / that.
            flops: 4,
        },
        /// exp(x − max)/Σ, over rows.
        Softmax = "softmax" => OperatorFacts {
            upstream: "Softmax",
            tensors: 1, vectors: 0, has_classes: false, is_loss: false, implementations: ALL,
            // Maximum, difference, exp, sum, quotient.
            flops: 5,
        },
        /// mean((x − t)²)
        MseLoss = "mse_loss" => OperatorFacts {
            upstream: "Loss",
            tensors: 2, vectors: 0, has_classes: false, is_loss: true, implementations: NO_OUT,
            // Difference, square, sum.
            flops: 3,
        },
        /// Mean over rows of log Σ exp(x) − `x[t]`, for a class t of each row, from logits.
        CrossEntropy = "cross_entropy" => OperatorFacts {
            upstream: "CrossEntropyLoss",
            tensors: 1, vectors: 0, has_classes: true, is_loss: true, implementations: ALL,
            // Maximum, difference, exp, sum.
            flops: 4,
        },
        /// GELU(x + b), with erf; b of the last dimension.
        BiasGelu = "bias_gelu" => OperatorFacts {
            upstream: "Bias_GELU",
            tensors: 1, vectors: 1, has_classes: false, is_loss: false, implementations: ALL,
            flops: 6,
        },
        /// LayerNorm(x + r): what follows a residual branch.
        AddLayerNorm = "add_layer_norm" => OperatorFacts {
            upstream: "Add_LayerNorm",
            tensors: 2, vectors: 2, has_classes: false, is_loss: false, implementations: NO_OUT,
            flops: 9,
        },
    }
}

struct ImplementationFacts {
    /// The name in results of the comprehensive operator benchmark, or one like it.
    upstream: &'static str,
    /// The devices that it is made for. On others it is left out unless a config lists it, and
    /// refused then.
    devices: &'static [Device],
    /// Whether it runs ATen's operations, each with an output of its own, which a compiler can fuse.
    is_compiled: bool,
}

closed_set! {
    /// An implementation of an operator. [`Operator::implementations`] lists those that it has.
    Implementation, "implementation", ImplementationFacts {
        /// ATen's operations, as eager PyTorch runs them, each with an output of its own: the
        /// baseline.
        Aten = "aten" => ImplementationFacts { upstream: "PyTorch", devices: Device::ALL, is_compiled: true },
        /// ATen's operations, each writing into a tensor that is allocated beforehand, once.
        AtenOut = "aten-out" => ImplementationFacts {
            upstream: "PyTorch (out)", devices: Device::ALL, is_compiled: false,
        },
        /// ATen's elementary operations, one for each of the formula.
        AtenComposed = "aten-composed" => ImplementationFacts {
            upstream: "PyTorch (composed)", devices: Device::ALL, is_compiled: true,
        },
        /// Our own kernels for the CPU.
        Rust = "rust" => ImplementationFacts { upstream: "Rust", devices: &[Device::Cpu], is_compiled: false },
        /// Our own kernels in CUDA C++.
        Cuda = "cuda" => ImplementationFacts { upstream: "CUDA", devices: &[Device::Cuda], is_compiled: false },
        /// Our own kernels in Triton.
        Triton = "triton" => ImplementationFacts { upstream: "Triton", devices: &[Device::Cuda], is_compiled: false },
        /// A pass over the same memory that computes nothing: what any implementation is bound by.
        Stream = "stream" => ImplementationFacts {
            upstream: "Stream", devices: &[Device::Cpu, Device::Cuda], is_compiled: false,
        },
    }
}

impl Operator {
    /// ε of what normalizes rows, torch's default of LayerNorm.
    pub const EPSILON: f64 = 1e-5;

    /// The name in results of the comprehensive operator benchmark, or one like it.
    pub const fn upstream(self) -> &'static str {
        self.facts().upstream
    }

    /// Whether its output is one number.
    pub const fn is_loss(self) -> bool {
        self.facts().is_loss
    }

    /// Its implementations, the baseline first.
    pub const fn implementations(self) -> &'static [Implementation] {
        self.facts().implementations
    }
}

impl Implementation {
    /// The name in results of the comprehensive operator benchmark, or one like it.
    pub const fn upstream(self) -> &'static str {
        self.facts().upstream
    }

    /// Whether it is made for the device. Where not, it is left out unless a config lists it, and
    /// refused then.
    pub fn is_usual(self, device: Device) -> bool {
        self.facts().devices.contains(&device)
    }

    pub(crate) const fn is_compiled(self) -> bool {
        self.facts().is_compiled
    }
}

/// The size of x.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OperatorShape {
    /// Sequences.
    pub batch_size: u64,
    /// Tokens of each.
    pub sequence_length: u64,
    /// Features of a token: the elements of a row.
    pub tensor_dimension: u64,
}

/// The work of an operator case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OperatorWork {
    /// The function.
    pub operator: Operator,
    /// The implementation that computes it.
    pub implementation: Implementation,
    /// `torch.compile` mode, if compiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compile: Option<CompileMode>,
    /// The size of x.
    pub size: OperatorShape,
    /// The most elements that x may have; a larger case is skipped.
    pub max_elements: u64,
}

/// Elements of the tensors of an operator: what any implementation has to move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    /// Elements of the examples, in the case's dtype: of x and of tensors of its size.
    pub examples: u64,
    /// Elements of w and b, in the case's dtype.
    pub parameters: u64,
    /// Elements of the classes, in int64.
    pub classes: u64,
    /// Elements of the output, in the case's dtype.
    pub output: u64,
}

impl OperatorShape {
    /// Rows: what operators that run over the last dimension treat each by itself.
    pub const fn rows(self) -> u64 {
        self.batch_size.saturating_mul(self.sequence_length)
    }

    /// Elements.
    pub const fn elements(self) -> u64 {
        self.rows().saturating_mul(self.tensor_dimension)
    }
}

impl fmt::Display for OperatorShape {
    /// `32x512x768`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { batch_size, sequence_length, tensor_dimension } = self;
        write!(f, "{batch_size}x{sequence_length}x{tensor_dimension}")
    }
}

/// Bytes of the inputs of one gate, in float64, and of what is computed from them: a dozen tensors of
/// 131 074 elements, two of the longest rows, rather more than less.
const GATES_BYTES: u64 = 16 << 20;

impl OperatorWork {
    /// The bytes that have to be moved.
    pub fn traffic(&self) -> Traffic {
        let (facts, elements) = (self.operator.facts(), self.size.elements());
        Traffic {
            examples: product(&[facts.tensors, elements]),
            parameters: product(&[facts.vectors, self.size.tensor_dimension]),
            classes: if facts.has_classes { self.size.rows() } else { 0 },
            output: if facts.is_loss { 1 } else { elements },
        }
    }

    /// Bytes that one step has to move: each input once, the output once, whatever the
    /// implementation.
    pub fn bytes(&self, dtype: Dtype) -> u64 {
        let Traffic { examples, parameters, classes, output } = self.traffic();
        let elements = sum(&[examples, parameters, output]);
        sum(&[product(&[dtype.bytes(), elements]), product(&[8, classes])])
    }

    /// Floating-point operations of the formula.
    pub const fn flops(&self) -> u64 {
        self.size.elements().saturating_mul(self.operator.facts().flops)
    }

    /// Bytes, rather more than less, that it holds at once: its tensors; the results of six operations
    /// of a composed form, in float32 at most; some rows in float64; and the small inputs of the gates.
    pub fn memory_bytes(&self, dtype: Dtype) -> u64 {
        let results = if self.implementation == Implementation::AtenComposed { 6 } else { 2 };
        let results = product(&[results, 4, self.size.elements()]);
        sum(&[self.bytes(dtype), results, self.reference_bytes(), GATES_BYTES])
    }

    /// Bytes of the host's memory while a case on another device is built and checked: one example
    /// as it is drawn, and some rows in float64.
    pub fn host_bytes(&self, dtype: Dtype) -> u64 {
        let example = product(&[4 + dtype.bytes(), self.size.elements()]);
        sum(&[example, self.reference_bytes(), GATES_BYTES])
    }

    /// Bytes of the rows that are compared: with each operation's result in float64.
    fn reference_bytes(&self) -> u64 {
        let most = match self.operator.is_loss() {
            // One number depends on every element; it is computed block by block.
            true => REFERENCE_ELEMENTS,
            false => REFERENCE_ELEMENTS.max(self.size.tensor_dimension),
        };
        product(&[COMPARED_BYTES + 6 * 8, self.size.elements().min(most)])
    }
}

#[cfg(test)]
#[path = "operator_tests.rs"]
mod tests;

//! Words of operator benchmarks: the operators, and who implements them.

use super::closed::closed_set;
use super::settings::Device;

closed_set! {
    /// A function of a tensor `[batch, sequence, dim]`. What runs over a row runs over the last
    /// dimension. Upstream's names are in [`Operator::upstream`].
    Operator, "operator" {
        /// (x − mean)/√(variance + 10⁻⁵)·w + b, over rows; the variance is the biased one.
        LayerNorm = "layer_norm",
        /// The same without w and b.
        LayerNormNoAffine = "layer_norm_no_affine",
        /// x/√(mean(x²) + 10⁻⁵)·w, over rows.
        RmsNorm = "rms_norm",
        /// x·Φ(x), with erf.
        Gelu = "gelu",
        /// ½x(1 + tanh(√(2/π)(x + 0.044715x³))): another function, at most 5·10⁻⁴ away.
        GeluTanh = "gelu_tanh",
        /// x·σ(x), also known as Swish.
        Silu = "silu",
        /// exp(x − max)/Σ, over rows.
        Softmax = "softmax",
        /// mean((x − t)²)
        MseLoss = "mse_loss",
        /// Mean over rows of log Σ exp(x) − `x[t]`, for a class t of each row, from logits.
        CrossEntropy = "cross_entropy",
        /// GELU(x + b), with erf; b of the last dimension.
        BiasGelu = "bias_gelu",
        /// LayerNorm(x + r): what follows a residual branch.
        AddLayerNorm = "add_layer_norm",
    }
}

closed_set! {
    /// An implementation of an operator. [`Operator::implementations`] lists those that it has.
    Implementation, "implementation" {
        /// ATen's operations, as eager PyTorch runs them, each with an output of its own: the
        /// baseline.
        Aten = "aten",
        /// The same, each output written into a tensor that is allocated beforehand, once.
        AtenOut = "aten-out",
        /// ATen's elementary operations, one for each of the formula.
        AtenComposed = "aten-composed",
        /// Our own kernels for the CPU.
        Rust = "rust",
        /// Our own kernels in CUDA C++.
        Cuda = "cuda",
        /// Our own kernels in Triton.
        Triton = "triton",
        /// A pass over the same memory that computes nothing: what any implementation is bound by.
        Stream = "stream",
    }
}

impl Operator {
    /// ε of what normalizes rows, torch's default of LayerNorm.
    pub const EPSILON: f64 = 1e-5;

    /// The name in results of the comprehensive operator benchmark, or one like it.
    pub const fn upstream(self) -> &'static str {
        match self {
            Self::LayerNorm => "LayerNorm",
            Self::LayerNormNoAffine => "LayerNorm_NoAffine",
            Self::RmsNorm => "RMSNorm",
            Self::Gelu => "GELU",
            Self::GeluTanh => "GELU_Tanh",
            Self::Silu => "Swish",
            Self::Softmax => "Softmax",
            Self::MseLoss => "Loss",
            Self::CrossEntropy => "CrossEntropyLoss",
            Self::BiasGelu => "Bias_GELU",
            Self::AddLayerNorm => "Add_LayerNorm",
        }
    }

    /// Whether its output is one number.
    pub const fn is_loss(self) -> bool {
        matches!(self, Self::MseLoss | Self::CrossEntropy)
    }

    /// Its implementations, the baseline first. ATen's RMSNorm has no form with a preallocated
    /// output; its mean of the squared error resizes the output to the size of x; and its LayerNorm
    /// computes into tensors of its own, which it copies.
    pub const fn implementations(self) -> &'static [Implementation] {
        use Implementation::{Aten, AtenComposed, AtenOut, Cuda, Rust, Stream, Triton};
        match self {
            Self::LayerNorm
            | Self::LayerNormNoAffine
            | Self::AddLayerNorm
            | Self::RmsNorm
            | Self::MseLoss => &[Aten, AtenComposed, Rust, Cuda, Triton, Stream],
            Self::Gelu
            | Self::GeluTanh
            | Self::Silu
            | Self::Softmax
            | Self::CrossEntropy
            | Self::BiasGelu => &[Aten, AtenOut, AtenComposed, Rust, Cuda, Triton, Stream],
        }
    }
}

impl Implementation {
    /// The name in results of the comprehensive operator benchmark, or one like it.
    pub const fn upstream(self) -> &'static str {
        match self {
            Self::Aten => "PyTorch",
            Self::AtenOut => "PyTorch (out)",
            Self::AtenComposed => "PyTorch (composed)",
            Self::Rust => "Rust",
            Self::Cuda => "CUDA",
            Self::Triton => "Triton",
            Self::Stream => "Stream",
        }
    }

    /// Whether it is made for the device. Where not, it is left out unless a config lists it, and
    /// refused then.
    pub const fn is_usual(self, device: Device) -> bool {
        match self {
            Self::Aten | Self::AtenOut | Self::AtenComposed => true,
            Self::Rust => matches!(device, Device::Cpu),
            Self::Cuda | Self::Triton => matches!(device, Device::Cuda),
            Self::Stream => matches!(device, Device::Cpu | Device::Cuda),
        }
    }
}

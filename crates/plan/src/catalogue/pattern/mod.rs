//! Fused patterns: a sequence of operations that may be run as fewer, at a size, run one way.

mod attention;
mod conv;
mod cost;
mod formulas;
mod linear;
mod size;

use crate::words::Device;
use crate::words::closed::closed_set;
use attention::End;
use linear::{Activation, GELU, RELU};

pub use cost::FusionWork;
pub use formulas::Operation;
pub use size::{FusionShape, KERNEL_SIZE, MemoryFormat, PatternFamily, sizes};

#[derive(Clone, Copy)]
enum Body {
    /// A product with a weight, a bias and perhaps an activation.
    Linear(Option<Activation>),
    /// A convolution: with a bias, or without one and normalized; and perhaps max(·, 0).
    Conv { normalized: bool, relu: bool },
    /// Attention up to this operation.
    Attention(End),
}

struct PatternFacts {
    /// `fusion_pattern` of branes-ai/graphs.
    upstream: &'static str,
    body: Body,
    variants: &'static [FusionVariant],
}

use FusionVariant::{
    Addmm, Baddbmm, Folded, Fused, Inplace, Mkldnn, MkldnnUnfused, OnednnGraph, Sdpa3d, SdpaCudnn,
    SdpaEfficient, SdpaFlash, SdpaMath, TorchScript, Unfused,
};

closed_set! {
    /// A sequence of operations that may be run as fewer. Names of branes-ai/graphs are in
    /// [`Pattern::upstream`].
    Pattern, "pattern", PatternFacts {
        /// x·Wᵀ + b
        LinearBias = "linear_bias" => PatternFacts {
            upstream: "Linear_Bias",
            body: Body::Linear(None),
            variants: &[Unfused, Fused, Inplace, Mkldnn, MkldnnUnfused, OnednnGraph],
        },
        /// max(x·Wᵀ + b, 0)
        LinearBiasRelu = "linear_bias_relu" => PatternFacts {
            upstream: "Linear_Bias_ReLU",
            body: Body::Linear(Some(RELU)),
            variants: &[
                Unfused, Fused, Addmm, Inplace, Mkldnn, MkldnnUnfused, OnednnGraph, TorchScript,
            ],
        },
        /// GELU(x·Wᵀ + b), the exact (erf) form.
        LinearBiasGelu = "linear_bias_gelu" => PatternFacts {
            upstream: "Linear_Bias_GELU",
            body: Body::Linear(Some(GELU)),
            variants: &[
                Unfused, Fused, Addmm, Inplace, Mkldnn, MkldnnUnfused, OnednnGraph, TorchScript,
            ],
        },
        /// max(conv(x) + b, 0)
        Conv2dRelu = "conv2d_relu" => PatternFacts {
            upstream: "Conv2d_ReLU",
            body: Body::Conv { normalized: false, relu: true },
            variants: &[Unfused, Fused, Inplace, Mkldnn, MkldnnUnfused, OnednnGraph],
        },
        /// Convolution without bias, then batch normalization with fixed statistics.
        Conv2dBn = "conv2d_bn" => PatternFacts {
            upstream: "Conv2d_BN",
            body: Body::Conv { normalized: true, relu: false },
            variants: &[Unfused, Fused, Mkldnn, MkldnnUnfused, OnednnGraph],
        },
        /// Convolution and batch normalization as above, then max(·, 0).
        Conv2dBnRelu = "conv2d_bn_relu" => PatternFacts {
            upstream: "Conv2d_BN_ReLU",
            body: Body::Conv { normalized: true, relu: true },
            variants: &[Unfused, Fused, Folded, Inplace, Mkldnn, MkldnnUnfused, OnednnGraph],
        },
        /// Q·Kᵀ / √d
        QkScores = "qk_scores" => PatternFacts {
            upstream: "QK_AttentionScores",
            body: Body::Attention(End::Scores),
            variants: &[Unfused, Fused, Inplace, OnednnGraph, TorchScript],
        },
        /// softmax(Q·Kᵀ / √d)
        QkSoftmax = "qk_softmax" => PatternFacts {
            upstream: "QK_Softmax",
            body: Body::Attention(End::Softmax),
            variants: &[Unfused, Fused, Inplace, OnednnGraph, TorchScript],
        },
        /// softmax(Q·Kᵀ / √d)·V
        FullAttention = "full_attention" => PatternFacts {
            upstream: "FullAttention_SDPA",
            body: Body::Attention(End::Output),
            variants: &[
                Unfused, Fused, Baddbmm, OnednnGraph, Sdpa3d, SdpaMath, SdpaFlash, SdpaEfficient,
                SdpaCudnn,
            ],
        },
    }
}

#[derive(Clone, Copy)]
enum Side {
    Unfused,
    Fused,
}

/// The facts about a way to run a pattern.
struct VariantFacts {
    /// The devices on which libtorch has it and runs other operations than for its siblings. On others
    /// it is left out unless a config lists it.
    devices: &'static [Device],
    /// The side of upstream's formulas that it may claim; none of what upstream does not run.
    upstream: Option<Side>,
}

const CPU: &[Device] = &[Device::Cpu];
const CUDA: &[Device] = &[Device::Cuda];

closed_set! {
    /// A way to run a pattern; [`Pattern::variants`] lists those of a pattern.
    FusionVariant, "fusion variant", VariantFacts {
        /// Every operation on its own, each with an output of its own: the baseline.
        Unfused = "unfused" => VariantFacts {
            devices: Device::ALL, upstream: Some(Side::Unfused),
        },
        /// The fewest operations that libtorch has for the pattern.
        Fused = "fused" => VariantFacts { devices: Device::ALL, upstream: Some(Side::Fused) },
        /// The operations of `unfused`, those that can writing over their input.
        Inplace = "inplace" => VariantFacts { devices: Device::ALL, upstream: None },
        /// The bias is part of the product (`addmm`), the activation is not: what upstream's
        /// TorchScript function says.
        Addmm = "addmm" => VariantFacts { devices: Device::ALL, upstream: Some(Side::Fused) },
        /// The scale is part of the product (`baddbmm` with alpha), nothing else is.
        Baddbmm = "baddbmm" => VariantFacts { devices: Device::ALL, upstream: None },
        /// The normalization is part of the filters, the activation is not.
        Folded = "folded" => VariantFacts { devices: Device::ALL, upstream: Some(Side::Fused) },
        /// oneDNN's operation with what follows it as a post-op, its weights reordered beforehand.
        Mkldnn = "mkldnn" => VariantFacts { devices: CPU, upstream: Some(Side::Fused) },
        /// The operations of `unfused`, the product or convolution by oneDNN as in `mkldnn`: what that
        /// gains by its kernel and its layout alone.
        MkldnnUnfused = "mkldnn-unfused" => VariantFacts { devices: CPU, upstream: None },
        /// A TorchScript function, which is what upstream calls fused. On the CPU it fuses nothing, and
        /// splits `addmm`: it runs what `unfused` runs.
        TorchScript = "torchscript" => VariantFacts {
            devices: CUDA, upstream: Some(Side::Fused),
        },
        /// A TorchScript function that oneDNN Graph fuses.
        OnednnGraph = "onednn-graph" => VariantFacts {
            devices: CPU, upstream: Some(Side::Fused),
        },
        /// `scaled_dot_product_attention` on tensors without an axis of heads.
        Sdpa3d = "sdpa-3d" => VariantFacts { devices: Device::ALL, upstream: Some(Side::Fused) },
        /// Its composite of products and softmax, which is what upstream's call of SDPA runs, and on
        /// the CPU what `sdpa-3d` runs.
        SdpaMath = "sdpa-math" => VariantFacts { devices: CUDA, upstream: Some(Side::Fused) },
        /// Its FlashAttention kernel; the CPU takes its own for `fused` anyway.
        SdpaFlash = "sdpa-flash" => VariantFacts { devices: CUDA, upstream: Some(Side::Fused) },
        /// Its memory-efficient kernel, which the CPU lacks.
        SdpaEfficient = "sdpa-efficient" => VariantFacts {
            devices: CUDA, upstream: Some(Side::Fused),
        },
        /// Its cuDNN kernel, which the CPU lacks.
        SdpaCudnn = "sdpa-cudnn" => VariantFacts { devices: CUDA, upstream: Some(Side::Fused) },
    }
}

impl Pattern {
    /// The family of operations that it is built around.
    pub const fn family(self) -> PatternFamily {
        match self.facts().body {
            Body::Linear(_) => PatternFamily::Linear,
            Body::Conv { .. } => PatternFamily::Conv,
            Body::Attention(_) => PatternFamily::Attention,
        }
    }

    /// `fusion_pattern` of branes-ai/graphs.
    pub const fn upstream(self) -> &'static str {
        self.facts().upstream
    }

    /// Whether a causal mask changes it.
    pub const fn has_mask(self) -> bool {
        matches!(self.facts().body, Body::Attention(End::Softmax | End::Output))
    }

    /// The ways to run it, the baseline first.
    pub const fn variants(self) -> &'static [FusionVariant] {
        self.facts().variants
    }

    pub(crate) fn takes(self, size: FusionShape) -> bool {
        let causal = matches!(size, FusionShape::Attention { causal: true, .. });
        size.family() == self.family() && (self.has_mask() || !causal)
    }
}

impl FusionVariant {
    /// Whether libtorch has it on the device, and runs other operations there than for its siblings.
    /// Another variant is left out unless a config lists it.
    pub fn is_usual(self, device: Device) -> bool {
        self.facts().devices.contains(&device)
    }
}

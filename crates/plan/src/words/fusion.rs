//! Words of fusion benchmarks: patterns, the ways to run them, and the layout of images.

use super::closed::closed_set;
use super::settings::Device;

closed_set! {
    /// What a pattern is built around; the three files of branes-ai/graphs.
    PatternFamily, "pattern family" {
        /// `x [m, k]` times a weight `[n, k]`.
        Linear = "linear",
        /// Convolution of images `[b, i, s, s]` with `o` filters of 3×3, stride 1, padding 1.
        Conv = "conv",
        /// Attention of `heads` heads over `[b, heads, s, d]`.
        Attention = "attention",
    }
}

closed_set! {
    /// A sequence of operations that may be run as fewer. Names of branes-ai/graphs are in
    /// [`Pattern::upstream`].
    Pattern, "pattern" {
        /// x·Wᵀ + b
        LinearBias = "linear_bias",
        /// max(x·Wᵀ + b, 0)
        LinearBiasRelu = "linear_bias_relu",
        /// GELU(x·Wᵀ + b), the exact (erf) form.
        LinearBiasGelu = "linear_bias_gelu",
        /// max(conv(x) + b, 0)
        Conv2dRelu = "conv2d_relu",
        /// Convolution without bias, then batch normalization with fixed statistics.
        Conv2dBn = "conv2d_bn",
        /// The same, then max(·, 0).
        Conv2dBnRelu = "conv2d_bn_relu",
        /// Q·Kᵀ / √d
        QkScores = "qk_scores",
        /// softmax(Q·Kᵀ / √d)
        QkSoftmax = "qk_softmax",
        /// softmax(Q·Kᵀ / √d)·V
        FullAttention = "full_attention",
    }
}

closed_set! {
    /// A way to run a pattern. Which ones a pattern has: [`Pattern::variants`].
    FusionVariant, "fusion variant" {
        /// Every operation on its own, each with an output of its own: the baseline.
        Unfused = "unfused",
        /// The fewest operations that libtorch has for the pattern.
        Fused = "fused",
        /// The operations of `unfused`, those that can writing over their input.
        Inplace = "inplace",
        /// The bias is part of the product (`addmm`), the activation is not.
        Addmm = "addmm",
        /// The scale is part of the product (`baddbmm` with alpha), nothing else is.
        Baddbmm = "baddbmm",
        /// The normalization is part of the filters, the activation is not.
        Folded = "folded",
        /// oneDNN's operation with what follows it as a post-op, its weights reordered beforehand.
        Mkldnn = "mkldnn",
        /// The operations of `unfused`, the product or convolution by oneDNN as in `mkldnn`: what that
        /// gains by its kernel and its layout alone.
        MkldnnUnfused = "mkldnn-unfused",
        /// A TorchScript function, which is what upstream calls fused.
        TorchScript = "torchscript",
        /// A TorchScript function that oneDNN Graph fuses.
        OnednnGraph = "onednn-graph",
        /// `scaled_dot_product_attention` on tensors without an axis of heads.
        Sdpa3d = "sdpa-3d",
        /// Its composite of products and softmax.
        SdpaMath = "sdpa-math",
        /// Its FlashAttention kernel.
        SdpaFlash = "sdpa-flash",
        /// Its memory-efficient kernel.
        SdpaEfficient = "sdpa-efficient",
        /// Its cuDNN kernel.
        SdpaCudnn = "sdpa-cudnn",
    }
}

closed_set! {
    /// Upstream's sizes of a kind: of patterns [`crate::fusion::sizes`], of probes
    /// [`crate::ProbeWork::sizes`].
    SizeSet, "size set" {
        /// All of them.
        Full = "full",
        /// Two, or the smaller ones.
        Quick = "quick",
    }
}

closed_set! {
    /// How the elements of images lie in memory.
    MemoryFormat, "memory format" {
        /// Channel by channel (NCHW).
        Contiguous = "contiguous",
        /// Pixel by pixel (NHWC).
        ChannelsLast = "channels_last",
    }
}

impl Pattern {
    /// What it is built around.
    pub const fn family(self) -> PatternFamily {
        match self {
            Self::LinearBias | Self::LinearBiasRelu | Self::LinearBiasGelu => PatternFamily::Linear,
            Self::Conv2dRelu | Self::Conv2dBn | Self::Conv2dBnRelu => PatternFamily::Conv,
            Self::QkScores | Self::QkSoftmax | Self::FullAttention => PatternFamily::Attention,
        }
    }

    /// `fusion_pattern` of branes-ai/graphs.
    pub const fn upstream(self) -> &'static str {
        match self {
            Self::LinearBias => "Linear_Bias",
            Self::LinearBiasRelu => "Linear_Bias_ReLU",
            Self::LinearBiasGelu => "Linear_Bias_GELU",
            Self::Conv2dRelu => "Conv2d_ReLU",
            Self::Conv2dBn => "Conv2d_BN",
            Self::Conv2dBnRelu => "Conv2d_BN_ReLU",
            Self::QkScores => "QK_AttentionScores",
            Self::QkSoftmax => "QK_Softmax",
            Self::FullAttention => "FullAttention_SDPA",
        }
    }

    /// Whether a causal mask changes it.
    pub const fn has_mask(self) -> bool {
        matches!(self, Self::QkSoftmax | Self::FullAttention)
    }

    /// The ways to run it, the baseline first.
    pub const fn variants(self) -> &'static [FusionVariant] {
        use FusionVariant::{
            Addmm, Baddbmm, Folded, Fused, Inplace, Mkldnn, MkldnnUnfused, OnednnGraph, Sdpa3d,
            SdpaCudnn, SdpaEfficient, SdpaFlash, SdpaMath, TorchScript, Unfused,
        };
        match self {
            Self::LinearBias => &[Unfused, Fused, Inplace, Mkldnn, MkldnnUnfused, OnednnGraph],
            Self::LinearBiasRelu | Self::LinearBiasGelu => {
                &[Unfused, Fused, Addmm, Inplace, Mkldnn, MkldnnUnfused, OnednnGraph, TorchScript]
            }
            Self::Conv2dRelu => &[Unfused, Fused, Inplace, Mkldnn, MkldnnUnfused, OnednnGraph],
            Self::Conv2dBn => &[Unfused, Fused, Mkldnn, MkldnnUnfused, OnednnGraph],
            Self::Conv2dBnRelu => {
                &[Unfused, Fused, Folded, Inplace, Mkldnn, MkldnnUnfused, OnednnGraph]
            }
            Self::QkScores => &[Unfused, Fused, Inplace, OnednnGraph, TorchScript],
            Self::QkSoftmax => &[Unfused, Fused, Inplace, OnednnGraph, TorchScript],
            Self::FullAttention => &[
                Unfused,
                Fused,
                Baddbmm,
                OnednnGraph,
                Sdpa3d,
                SdpaMath,
                SdpaFlash,
                SdpaEfficient,
                SdpaCudnn,
            ],
        }
    }
}

impl FusionVariant {
    /// Whether libtorch has it on the device, and runs other operations there than for its siblings.
    /// Another variant is left out unless a config lists it.
    pub const fn is_usual(self, device: Device) -> bool {
        let cuda = matches!(device, Device::Cuda);
        match self {
            Self::Mkldnn | Self::MkldnnUnfused | Self::OnednnGraph => {
                matches!(device, Device::Cpu)
            }
            // The CPU has neither, and takes its own flash kernel for `fused` anyway. Its composite is
            // what `sdpa-3d` runs.
            Self::SdpaMath | Self::SdpaFlash | Self::SdpaEfficient | Self::SdpaCudnn => cuda,
            // On the CPU TorchScript fuses nothing, and splits `addmm`: it runs what `unfused` runs.
            Self::TorchScript => cuda,
            Self::Unfused
            | Self::Fused
            | Self::Inplace
            | Self::Addmm
            | Self::Baddbmm
            | Self::Folded
            | Self::Sdpa3d => true,
        }
    }
}

//! A fusion case: a pattern at a size, run one way.

mod sizes;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::words::{CompileMode, FusionVariant, MemoryFormat, Pattern, PatternFamily};

pub use sizes::sizes;

/// The size of a pattern's inputs, in its family's own dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FusionShape {
    /// `x [m, k]`, `W [n, k]`, `b [n]`.
    Linear {
        /// Rows.
        m: u64,
        /// Input features.
        k: u64,
        /// Output features.
        n: u64,
    },
    /// `x [b, i, s, s]`, filters `[o, i, 3, 3]`, stride 1, padding 1: the output is `[b, o, s, s]`.
    Conv {
        /// Images.
        b: u64,
        /// Input channels.
        i: u64,
        /// Output channels.
        o: u64,
        /// Height and width.
        s: u64,
        /// How images and filters lie in memory.
        memory_format: MemoryFormat,
    },
    /// `Q`, `K`, `V` of `[b, heads, s, d]`.
    Attention {
        /// Sequences.
        b: u64,
        /// Tokens of each.
        s: u64,
        /// Features of a head.
        d: u64,
        /// Heads; 1 is upstream's, which has no such axis.
        heads: u64,
        /// Whether a token attends only to itself and those before it.
        causal: bool,
    },
}

/// Height and width of a filter.
pub const KERNEL_SIZE: u64 = 3;

/// What a fusion case runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FusionWork {
    /// The operations.
    pub pattern: Pattern,
    /// How they are run.
    pub variant: FusionVariant,
    /// `torch.compile` mode, if compiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compile: Option<CompileMode>,
    /// Their size; always of the pattern's family.
    pub size: FusionShape,
}

impl FusionWork {
    /// The operations one by one, eagerly: what every variant is compared with.
    #[must_use]
    pub const fn unfused(self) -> Self {
        Self { variant: FusionVariant::Unfused, compile: None, ..self }
    }
}

impl FusionShape {
    /// The patterns that have such a shape.
    pub const fn family(self) -> PatternFamily {
        match self {
            Self::Linear { .. } => PatternFamily::Linear,
            Self::Conv { .. } => PatternFamily::Conv,
            Self::Attention { .. } => PatternFamily::Attention,
        }
    }
}

impl fmt::Display for FusionShape {
    /// `512x1024x1024`; `4x128x128x28-channels_last`; `4x256x64-h8-causal`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Linear { m, k, n } => write!(f, "{m}x{k}x{n}"),
            Self::Conv { b, i, o, s, memory_format } => {
                write!(f, "{b}x{i}x{o}x{s}")?;
                match memory_format {
                    MemoryFormat::Contiguous => Ok(()),
                    MemoryFormat::ChannelsLast => write!(f, "-{memory_format}"),
                }
            }
            Self::Attention { b, s, d, heads, causal } => {
                write!(f, "{b}x{s}x{d}")?;
                if heads > 1 {
                    write!(f, "-h{heads}")?;
                }
                if causal {
                    f.write_str("-causal")?;
                }
                Ok(())
            }
        }
    }
}

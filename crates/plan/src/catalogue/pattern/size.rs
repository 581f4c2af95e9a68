//! The sizes of patterns: dimensions of their family's own.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::catalogue::SizeSet;
use crate::words::closed::closed_set;

struct FamilyFacts {
    /// How a config lists a size.
    numbers: &'static str,
    /// The sizes at which branes-ai/graphs runs every pattern of the family, from the smallest.
    sizes: [&'static [u64]; 3],
}

closed_set! {
    /// The operation that a pattern is built around; each is a file of branes-ai/graphs.
    PatternFamily, "pattern family", FamilyFacts {
        /// `x [m, k]` times a weight `[n, k]`.
        Linear = "linear" => FamilyFacts {
            numbers: "`[m, k, n]`: rows, input and output features",
            sizes: [&[128, 512, 512], &[512, 1024, 1024], &[1024, 2048, 2048]],
        },
        /// Convolution of images `[b, i, s, s]` with `o` filters of 3×3, stride 1, padding 1.
        Conv = "conv" => FamilyFacts {
            numbers: "`[b, i, o, s]`: images, input and output channels, height and width",
            sizes: [&[1, 64, 64, 56], &[4, 128, 128, 28], &[8, 256, 256, 14]],
        },
        /// Attention of `heads` heads over `[b, heads, s, d]`.
        Attention = "attention" => FamilyFacts {
            numbers: "`[b, s, d]`: sequences, tokens, features of a head",
            sizes: [&[1, 128, 64], &[4, 256, 64], &[8, 512, 64]],
        },
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

impl PatternFamily {
    /// How a config lists the numbers of a size.
    pub(crate) const fn numbers(self) -> &'static str {
        self.facts().numbers
    }

    /// The size of such numbers: one head, without a mask, contiguous. `None` for more of them, or fewer.
    pub(crate) fn shape(self, numbers: &[u64]) -> Option<FusionShape> {
        Some(match (self, numbers) {
            (Self::Linear, &[m, k, n]) => FusionShape::Linear { m, k, n },
            (Self::Conv, &[b, i, o, s]) => {
                FusionShape::Conv { b, i, o, s, memory_format: MemoryFormat::Contiguous }
            }
            (Self::Attention, &[b, s, d]) => {
                FusionShape::Attention { b, s, d, heads: 1, causal: false }
            }
            (Self::Linear | Self::Conv | Self::Attention, _) => return None,
        })
    }
}

/// The sizes at which branes-ai/graphs runs every pattern of a family, from the smallest: one head,
/// without a mask, contiguous.
pub fn sizes(family: PatternFamily, set: SizeSet) -> Vec<FusionShape> {
    let count = match set {
        SizeSet::Full => 3,
        SizeSet::Quick => 2,
    };
    let shape = |numbers: &&[u64]| family.shape(numbers).expect("its family's numbers");
    family.facts().sizes[..count].iter().map(shape).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_sizes_are_the_first_of_the_full_ones() {
        for &family in PatternFamily::ALL {
            let (full, quick) = (sizes(family, SizeSet::Full), sizes(family, SizeSet::Quick));
            assert_eq!((full.len(), &full[..2]), (3, &quick[..]), "{family}");
        }
        let of_attention = sizes(PatternFamily::Attention, SizeSet::Full);
        assert_eq!(of_attention[2].to_string(), "8x512x64", "one head, not causal");
        assert_eq!(sizes(PatternFamily::Conv, SizeSet::Full)[0].to_string(), "1x64x64x56");
    }
}

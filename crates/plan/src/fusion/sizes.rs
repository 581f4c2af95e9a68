//! The sizes that branes-ai/graphs measures.

use super::FusionShape;
use crate::words::{MemoryFormat, PatternFamily, SizeSet};

/// `[m, k, n]`.
const LINEAR: [[u64; 3]; 3] = [[128, 512, 512], [512, 1024, 1024], [1024, 2048, 2048]];
/// `[b, i, o, s]`.
const CONV: [[u64; 4]; 3] = [[1, 64, 64, 56], [4, 128, 128, 28], [8, 256, 256, 14]];
/// `[b, s, d]`.
const ATTENTION: [[u64; 3]; 3] = [[1, 128, 64], [4, 256, 64], [8, 512, 64]];

/// The sizes at which branes-ai/graphs runs every pattern of a family, from the smallest: one head,
/// without a mask, contiguous.
pub fn sizes(family: PatternFamily, set: SizeSet) -> Vec<FusionShape> {
    let all: Vec<FusionShape> = match family {
        PatternFamily::Linear => {
            LINEAR.iter().map(|&[m, k, n]| FusionShape::Linear { m, k, n }).collect()
        }
        PatternFamily::Conv => CONV.iter().map(|&[b, i, o, s]| contiguous(b, i, o, s)).collect(),
        PatternFamily::Attention => ATTENTION
            .iter()
            .map(|&[b, s, d]| FusionShape::Attention { b, s, d, heads: 1, causal: false })
            .collect(),
    };
    let count = match set {
        SizeSet::Full => 3,
        SizeSet::Quick => 2,
    };
    all.into_iter().take(count).collect()
}

fn contiguous(b: u64, i: u64, o: u64, s: u64) -> FusionShape {
    FusionShape::Conv { b, i, o, s, memory_format: MemoryFormat::Contiguous }
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

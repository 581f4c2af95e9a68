//! The sizes of a decoder's block that are not those of its linear layers.

use std::fmt;

/// A block as Llama has it: RMS norm, attention whose heads share keys and values, output projection and residual; RMS norm,
/// SiLU-gated MLP and residual. It has no biases, no rotary embeddings and no norms of heads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DecoderBlock {
    /// Whether queries, keys and values are one linear layer, and so are both inputs of the MLP.
    pub is_fused: bool,
    /// Heads of queries, a multiple of those of keys and values.
    pub heads: u64,
    /// Heads of keys and values.
    pub key_value_heads: u64,
    /// Width of a head.
    pub head_width: u64,
    /// Tokens of each sequence in a pass.
    pub tokens: u64,
    /// Tokens before them, whose keys and values are cached; none for passes of more than one token.
    pub cached: u64,
}

impl DecoderBlock {
    const SEPARATE: &'static str = "decoder";
    const FUSED: &'static str = "decoder_fused";

    /// The linear layers of Llama's block, in order.
    pub const LAYERS: &'static [&'static str] =
        &["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];
    /// Names of its linear layers where they are fused, as in Phi 3.
    pub const FUSED_LAYERS: &'static [&'static str] =
        &["qkv_proj", "o_proj", "gate_up_proj", "down_proj"];

    /// A small one of each form, in sizes that every recipe takes.
    pub const EXAMPLES: [Self; 2] = [Self::example(false, 32, 6, 0), Self::example(true, 64, 1, 5)];

    const fn example(is_fused: bool, head_width: u64, tokens: u64, cached: u64) -> Self {
        let key_value_heads = 256 / head_width;
        let heads = 2 * key_value_heads;
        Self { is_fused, heads, key_value_heads, head_width, tokens, cached }
    }

    /// Names of its linear layers, in order.
    pub const fn layers(self) -> &'static [&'static str] {
        match self.is_fused {
            true => Self::FUSED_LAYERS,
            false => Self::LAYERS,
        }
    }

    /// The block of a word; `None` for other words, an error with the remedy for wrong sizes.
    pub(super) fn parse(text: &str) -> Option<Result<Self, String>> {
        let (family, sizes) = text.split_once('-').unwrap_or((text, ""));
        if ![Self::SEPARATE, Self::FUSED].contains(&family) {
            return None;
        }
        // One spelling of each number, small enough for any product of some of them.
        let number = |text: &str| text.parse().ok().filter(|it: &u32| it.to_string() == text);
        let sizes: Option<Vec<u64>> =
            sizes.split('-').map(|it| number(it).map(u64::from)).collect();
        let Some(&[heads, key_value_heads, head_width, tokens, cached]) = sizes.as_deref() else {
            return Some(Err(format!(
                "this family is written {family}-HEADS-KEY_VALUE_HEADS-HEAD_WIDTH-TOKENS-CACHED"
            )));
        };
        let is_fused = family == Self::FUSED;
        let block = Self { is_fused, heads, key_value_heads, head_width, tokens, cached };
        Some(match () {
            () if [heads, key_value_heads, head_width, tokens].contains(&0) => {
                Err("only the number of cached tokens may be 0".to_owned())
            }
            () if heads % key_value_heads != 0 => Err(format!(
                "{heads} heads cannot share {key_value_heads} heads of keys evenly: write a multiple"
            )),
            () if tokens > 1 && cached > 0 => {
                Err("cached tokens are for passes of one token: write one of the two".to_owned())
            }
            () => Ok(block),
        })
    }
}

impl fmt::Display for DecoderBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { is_fused, heads, key_value_heads, head_width, tokens, cached } = self;
        let family = if *is_fused { Self::FUSED } else { Self::SEPARATE };
        write!(f, "{family}-{heads}-{key_value_heads}-{head_width}-{tokens}-{cached}")
    }
}

#[cfg(test)]
mod tests {
    use crate::words::ModelKind;

    #[test]
    fn sizes_that_are_impossible_say_why() {
        for (text, remedy) in [
            ("decoder", "decoder-HEADS-KEY_VALUE_HEADS-HEAD_WIDTH-TOKENS-CACHED"),
            ("decoder_fused-4-2-8-1", "decoder_fused-HEADS-KEY_VALUE_HEADS-"),
            ("decoder-4-2-08-1-0", "this family is written"),
            ("decoder-4-2-8-0-5", "only the number of cached tokens may be 0"),
            ("decoder-4-3-8-1-0", "4 heads cannot share 3"),
            ("decoder-4-2-8-6-5", "cached tokens are for passes of one token"),
        ] {
            let error = text.parse::<ModelKind>().expect_err(text);
            assert!(error.remedy.contains(remedy), "{text}: {}", error.remedy);
        }
    }
}

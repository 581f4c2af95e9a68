//! The sizes of each model: its linear layers, which are what a recipe applies to and where nearly all cost
//! is, and the tensors that go in and come out.

use crate::catalogue::{product, sum};
use crate::shape::Shape;
use crate::words::{DecoderBlock, ModelKind};

/// Tokens per batch element of the transformer block, as upstream fixes them.
pub const BLOCK_TOKENS: u64 = 16;
/// Heads of the transformer block, as upstream fixes them; its k must be a multiple.
pub const BLOCK_HEADS: u64 = 8;
/// Width of the block's MLP, in widths of the block.
const MLP_RATIO: u64 = 4;

/// The sizes of one linear layer at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinearShape {
    /// Name of the module in upstream's model.
    pub name: &'static str,
    /// Rows of the input: batch times tokens.
    pub rows: u64,
    /// Input features.
    pub k: u64,
    /// Output features.
    pub n: u64,
}

/// The sizes of a model at a shape. Those beyond `u64` saturate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSizes {
    /// Its linear layers, in order.
    pub linears: Vec<LinearShape>,
    /// Its input; the first dimension is the batch.
    pub input: Vec<u64>,
    /// Its output; the first dimension is the batch.
    pub output: Vec<u64>,
    /// Floating-point operations of a forward pass outside of linear layers that count: matrix products.
    pub other_flops: u64,
}

impl ModelSizes {
    /// `None` for a model of a package, which says them itself when it runs.
    pub fn new(model: ModelKind, shape: Shape) -> Option<Self> {
        let Shape { m, k, n } = shape;
        let linear = |name, rows, k, n| LinearShape { name, rows, k, n };
        Some(match model {
            ModelKind::Linear => Self::plain(vec![linear("linear1", m, k, n)], shape),
            ModelKind::LnLinear(_) => Self::plain(vec![linear("fc", m, k, n)], shape),
            ModelKind::TransformerBlock => {
                let tokens = m.saturating_mul(BLOCK_TOKENS);
                let hidden = k.saturating_mul(MLP_RATIO);
                let linears = vec![
                    linear("qkv", tokens, k, k.saturating_mul(3)),
                    linear("proj", tokens, k, k),
                    linear("mlp_fc1", tokens, k, hidden),
                    linear("mlp_fc2", tokens, hidden, k),
                ];
                let size = vec![m, BLOCK_TOKENS, k];
                let other_flops = product(&[4, m, BLOCK_TOKENS, BLOCK_TOKENS, k]);
                Self { linears, input: size.clone(), output: size, other_flops }
            }
            ModelKind::Decoder(block) => Self::decoder(block, shape),
            ModelKind::User(_) => return None,
        })
    }

    fn decoder(block: DecoderBlock, Shape { m, k, n }: Shape) -> Self {
        let DecoderBlock { is_fused, heads, key_value_heads, head_width, tokens, cached } = block;
        let [queries, keys] = [heads, key_value_heads].map(|it| it.saturating_mul(head_width));
        let inputs = sum(&[queries, keys, keys]);
        let widths: &[(u64, u64)] = match is_fused {
            true => &[(inputs, k), (k, queries), (n.saturating_mul(2), k), (k, n)],
            false => &[(queries, k), (keys, k), (keys, k), (k, queries), (n, k), (n, k), (k, n)],
        };
        let rows = m.saturating_mul(tokens);
        let layer = |(&name, &(n, k))| LinearShape { name, rows, k, n };
        let linears = block.layers().iter().zip(widths).map(layer).collect();
        let size = vec![m, tokens, k];
        // A token attends to all cached ones, and to those of its pass up to itself.
        let attended = sum(&[product(&[tokens, cached]), product(&[tokens, tokens + 1]) / 2]);
        let other_flops = product(&[4, m, queries, attended]);
        Self { linears, input: size.clone(), output: size, other_flops }
    }

    /// Sizes of a model `[m, k]` → `[m, n]` whose only counted operations are those of `linears`.
    pub fn plain(linears: Vec<LinearShape>, shape: Shape) -> Self {
        let Shape { m, k, n } = shape;
        Self { linears, input: vec![m, k], output: vec![m, n], other_flops: 0 }
    }

    /// Floating-point operations of one forward pass, a multiply and an add counted as two:
    /// 2·rows·k·n for each linear layer, and the others that count. Saturates at `u64::MAX`, beyond
    /// anything that can be run.
    pub fn flops(&self) -> u64 {
        let products = self.linears.iter().map(|it| product(&[2, it.rows, it.k, it.n]));
        products.fold(self.other_flops, u64::saturating_add)
    }
}

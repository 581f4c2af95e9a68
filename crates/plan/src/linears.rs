//! The linear layers of each model: what a recipe applies to, and where nearly all cost is; and
//! the sizes of what goes into a model and comes out.

use crate::shape::Shape;
use crate::words::ModelKind;

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

/// The linear layers of a model, in order. Sizes beyond `u64` saturate.
pub fn linears(model: ModelKind, shape: Shape) -> Vec<LinearShape> {
    let Shape { m, k, n } = shape;
    let linear = |name, rows, k, n| LinearShape { name, rows, k, n };
    match model {
        ModelKind::Linear => vec![linear("linear1", m, k, n)],
        ModelKind::LnLinear(_) => vec![linear("fc", m, k, n)],
        ModelKind::TransformerBlock => {
            let tokens = m.saturating_mul(BLOCK_TOKENS);
            let hidden = k.saturating_mul(MLP_RATIO);
            vec![
                linear("qkv", tokens, k, k.saturating_mul(3)),
                linear("proj", tokens, k, k),
                linear("mlp_fc1", tokens, k, hidden),
                linear("mlp_fc2", tokens, hidden, k),
            ]
        }
    }
}

/// The size of a model's input: `[m, k]`, or `[m, 16, k]` for the transformer block.
pub fn input_size(model: ModelKind, shape: Shape) -> Vec<u64> {
    match model {
        ModelKind::Linear | ModelKind::LnLinear(_) => vec![shape.m, shape.k],
        ModelKind::TransformerBlock => vec![shape.m, BLOCK_TOKENS, shape.k],
    }
}

/// The size of a model's output: `[m, n]`, or that of its input for the transformer block.
pub fn output_size(model: ModelKind, shape: Shape) -> Vec<u64> {
    match model {
        ModelKind::Linear | ModelKind::LnLinear(_) => vec![shape.m, shape.n],
        ModelKind::TransformerBlock => input_size(model, shape),
    }
}

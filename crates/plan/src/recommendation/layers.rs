//! The linear layers of a model.

use serde::{Deserialize, Serialize};

use super::Phase;
use crate::catalogue::{product, sum};
use crate::shape::Shape;
use crate::words::DecoderBlock;

/// The linear layers of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelLayers {
    /// The name of the model, or of the file that describes it.
    pub name: String,
    /// `model_type` of the file, such as `qwen2`.
    pub family: String,
    /// The layers, in the order of the model.
    pub layers: Vec<LinearLayers>,
    /// Parameters that no recipe changes: embeddings, norms, biases.
    pub other_parameters: u64,
    /// The heads of its attention, where they are known and its layers are named as Llama's.
    #[serde(default)]
    pub attention: Option<Attention>,
}

/// The heads of an attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attention {
    /// Heads of queries.
    pub heads: u64,
    /// Heads of keys and values.
    pub key_value_heads: u64,
    /// Width of a head.
    pub head_width: u64,
}

/// Linear layers that are alike: one in each block of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinearLayers {
    /// The fully qualified name in Hugging Face's model, with `*` for numbers: `model.layers.*.self_attn.q_proj`.
    pub fqn: String,
    /// Output features.
    pub n: u64,
    /// Input features.
    pub k: u64,
    /// How many layers have the name.
    pub count: u64,
    /// Layers of one group have one recipe: `self_attn.qkv`, because runtimes fuse them.
    pub group: String,
    /// The rows of their input.
    pub rows: Rows,
    /// The kind of their module.
    #[serde(default)]
    pub module: Module,
}

/// The module that holds a weight. It decides whether torchao's `quantize_` changes the weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Module {
    /// `torch.nn.Linear`.
    #[default]
    Linear,
    /// GPT-2's `Conv1D`, whose weight is [k, n]. `quantize_` skips it.
    Conv1d,
    /// `torch.nn.Linear` with the weight of the embedding, which [`ModelLayers::other_parameters`] counts. Quantizing the
    /// layer adds a weight, because the embedding keeps its own.
    Tied,
    /// An expert or a router: `torch.nn.Linear` in transformers 4. `quantize_` skips it in transformers 5, where it is a
    /// tensor of another module.
    Mixture,
}

/// Which tokens a layer works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Rows {
    /// All tokens of the forward pass.
    #[default]
    Tokens,
    /// The last token of each sequence, as the head of a language model.
    LastToken,
    /// The tokens that are routed to an expert.
    Routed {
        /// Experts of a block.
        experts: u64,
        /// Experts that each token goes to.
        chosen: u64,
    },
}

impl LinearLayers {
    /// The product of a layer in a phase.
    pub fn shape(&self, phase: &Phase) -> Shape {
        let tokens = phase.batch.saturating_mul(phase.tokens);
        let m = match self.rows {
            Rows::Tokens => tokens,
            Rows::LastToken => phase.batch,
            // Spread evenly.
            Rows::Routed { experts, chosen } => {
                tokens.saturating_mul(chosen).div_ceil(experts.max(1))
            }
        };
        Shape { m, k: self.k, n: self.n }
    }

    /// How often the product runs in one pass of a phase.
    pub fn runs(&self, phase: &Phase) -> u64 {
        match self.rows {
            Rows::Tokens | Rows::LastToken => self.count,
            Rows::Routed { experts, chosen } => {
                let experts = experts.max(1);
                let tokens = phase.batch.saturating_mul(phase.tokens);
                let used = experts.min(tokens.saturating_mul(chosen));
                (self.count / experts).saturating_mul(used)
            }
        }
    }

    /// Whether this is the name of one of the layers, or of all of them.
    pub fn has_name(&self, name: &str) -> bool {
        let fits = |(own, other): (&str, &str)| {
            own == other || own == "*" && other.bytes().all(|it| it.is_ascii_digit())
        };
        let has_length = self.fqn.split('.').count() == name.split('.').count();
        has_length && self.fqn.split('.').zip(name.split('.')).all(fits)
    }

    /// Weights of all layers of the name.
    pub fn weights(&self) -> u64 {
        product(&[self.count, self.n, self.k])
    }

    /// Parameters of the model that are its own: no weights if they are the embedding's.
    pub fn parameters(&self) -> u64 {
        if self.module == Module::Tied { 0 } else { self.weights() }
    }
}

impl ModelLayers {
    /// The layers of a block, in its order.
    ///
    /// # Errors
    /// They are not those of Llama's, or of Phi 3's.
    pub fn block_layers(&self) -> Result<Vec<&LinearLayers>, String> {
        let layers: Vec<&LinearLayers> =
            self.layers.iter().filter(|it| it.fqn.contains('*')).collect();
        let is =
            |names: &[&str]| layers.iter().map(|it| last_part(&it.fqn)).eq(names.iter().copied());
        match is(DecoderBlock::LAYERS) || is(DecoderBlock::FUSED_LAYERS) {
            true => Ok(layers),
            false => Err(format!("the blocks of `{}` are not of Llama's layers", self.family)),
        }
    }

    /// All parameters of the model.
    pub fn parameters(&self) -> u64 {
        let linear = self.layers.iter().map(LinearLayers::parameters);
        sum(&linear.chain([self.other_parameters]).collect::<Vec<_>>())
    }
}

/// The name of a layer within its block.
pub(super) fn last_part(fqn: &str) -> &str {
    fqn.rsplit('.').next().unwrap_or(fqn)
}

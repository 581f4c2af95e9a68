//! A family of models: the modules of its blocks, and its heads.

use crate::recommendation::Module;

/// A number that keys of the config give: a sum of products of keys, numbers and whole quotients, such as
/// `2*hidden_size + hidden_size/num_attention_heads*head_dim`. A flag counts as 0 or 1.
pub(super) type Formula = &'static str;

/// The part of a model that has a module, which gives its count and its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Block,
    /// Each block without experts.
    DenseBlock,
    /// Each block with experts, once.
    SparseBlock,
    Expert,
    /// The head, for one token of a sequence.
    Head,
    /// The head, for all tokens.
    HeadOfTokens,
}

/// A module that multiplies by a matrix of n × k.
#[derive(Debug, Clone, Copy)]
pub(super) struct Linear {
    /// The module that it is in, from its block or, in a head, from the model.
    pub(super) path: &'static str,
    pub(super) name: &'static str,
    pub(super) n: Formula,
    pub(super) k: Formula,
    /// How many biases of n elements it has: 0 or 1.
    pub(super) biases: Formula,
    pub(super) place: Place,
    /// [`Module::Tied`], if the config ties it.
    pub(super) module: Module,
}

impl Linear {
    /// The fully qualified name, behind a prefix. Layers that runtimes fuse are one group; any other is its own.
    pub(super) fn name_and_group(&self, prefix: &str) -> (String, String) {
        let path = if self.path.is_empty() { String::new() } else { format!("{}.", self.path) };
        let group = match self.name {
            "q_proj" | "k_proj" | "v_proj" | "qkv_proj" | "c_attn" => "qkv",
            "query" | "key" | "value" => "qkv",
            "gate_proj" | "up_proj" | "gate_up_proj" | "w1" | "w3" => "gate_up",
            other => other,
        };
        (format!("{prefix}{path}{}", self.name), path.replace(".*", "") + group)
    }
}

/// A class of models, beyond the blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    /// The end of its name in `architectures`.
    pub(super) class: &'static str,
    /// The path to the model without its head.
    pub(super) path: &'static str,
    pub(super) linears: &'static [Linear],
    /// Parameters that are neither weights nor biases of `linears`.
    pub(super) others: Formula,
}

/// The models of one `model_type`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Family {
    pub(super) model_type: &'static str,
    /// The list of blocks, in the model without its head.
    pub(super) blocks: &'static str,
    pub(super) linears: &'static [&'static [Linear]],
    /// Embeddings and norms.
    pub(super) others: Formula,
    pub(super) heads: &'static [Head],
    /// Defaults for missing keys, before those of all families: `head_dim=256 hidden_size=n_embd`.
    pub(super) defaults: &'static str,
}

//! The known families. Names, biases and defaults are those of Hugging Face's transformers 4.57.6.

use super::family::Place::{Block, DenseBlock, Expert, Head as AtHead, HeadOfTokens, SparseBlock};
use super::family::{Family, Formula, Head, Linear, Place};
use crate::recommendation::Module;

/// Defaults of all families for keys that are missing or null.
pub(super) const DEFAULTS: &str = "attention_bias=0 decoder_sparse_step=1 head_dim=hidden_size/num_attention_heads \
    mlp_bias=0 n_inner=4*n_embd num_key_value_heads=num_attention_heads num_labels=2 pooler_output_size=hidden_size \
    qk_layernorm=0 qkv_bias=1 tie_word_embeddings=0";

const HIDDEN: Formula = "hidden_size";
const INTERMEDIATE: Formula = "intermediate_size";
/// The division refuses heads that cannot share keys evenly.
const QUERIES: Formula = "num_attention_heads/num_key_value_heads*num_key_value_heads*head_dim";
const KEYS: Formula = "num_key_value_heads*head_dim";
const SHARED: Formula = "shared_expert_intermediate_size";
const FUSED: Formula = "num_attention_heads*head_dim + 2*num_key_value_heads*head_dim";

const fn linear(path: &'static str, name: &'static str, n: Formula, k: Formula) -> Linear {
    Linear { path, name, n, k, biases: "0", place: Block, module: Module::Linear }
}

const fn biased(path: &'static str, name: &'static str, n: Formula, k: Formula) -> Linear {
    Linear { biases: "1", ..linear(path, name, n, k) }
}

/// GPT-2's module.
const fn conv1d(path: &'static str, name: &'static str, n: Formula, k: Formula) -> Linear {
    Linear { module: Module::Conv1d, ..biased(path, name, n, k) }
}

/// Decides which experts a token goes to.
const fn router(path: &'static str, experts: Formula) -> Linear {
    Linear { place: SparseBlock, module: Module::Mixture, ..linear(path, "gate", experts, HIDDEN) }
}

/// A layer that reads one token of each sequence.
const fn pooled(path: &'static str, name: &'static str, n: Formula) -> Linear {
    Linear { place: AtHead, ..biased(path, name, n, HIDDEN) }
}

const fn attention(inputs: Formula, output: Formula) -> [Linear; 4] {
    [
        Linear { biases: inputs, ..linear("self_attn", "q_proj", QUERIES, HIDDEN) },
        Linear { biases: inputs, ..linear("self_attn", "k_proj", KEYS, HIDDEN) },
        Linear { biases: inputs, ..linear("self_attn", "v_proj", KEYS, HIDDEN) },
        Linear { biases: output, ..linear("self_attn", "o_proj", HIDDEN, QUERIES) },
    ]
}

const fn mlp(biases: Formula, place: Place) -> [Linear; 3] {
    gated("mlp", NAMES, INTERMEDIATE, biases, place)
}

const fn gated(
    path: &'static str,
    [gate, up, down]: [&'static str; 3],
    width: Formula,
    biases: Formula,
    place: Place,
) -> [Linear; 3] {
    let module = if matches!(place, Expert) { Module::Mixture } else { Module::Linear };
    [
        Linear { biases, place, module, ..linear(path, gate, width, HIDDEN) },
        Linear { biases, place, module, ..linear(path, up, width, HIDDEN) },
        Linear { biases, place, module, ..linear(path, down, HIDDEN, width) },
    ]
}

/// A block of BERT or ViT, which hold the inputs of their attention in modules of other names.
const fn encoder(path: &'static str, biases: Formula) -> [Linear; 6] {
    [
        Linear { biases, ..linear(path, "query", HIDDEN, HIDDEN) },
        Linear { biases, ..linear(path, "key", HIDDEN, HIDDEN) },
        Linear { biases, ..linear(path, "value", HIDDEN, HIDDEN) },
        biased("attention.output", "dense", HIDDEN, HIDDEN),
        biased("intermediate", "dense", INTERMEDIATE, HIDDEN),
        biased("output", "dense", HIDDEN, INTERMEDIATE),
    ]
}

const NAMES: [&str; 3] = ["gate_proj", "up_proj", "down_proj"];
const QWEN_EXPERTS: [Linear; 3] =
    gated("mlp.experts.*", NAMES, "moe_intermediate_size", "0", Expert);
const LM_HEAD: Linear =
    Linear { place: AtHead, module: Module::Tied, ..linear("", "lm_head", "vocab_size", HIDDEN) };
const GPT2_HEAD: &[Linear] = &[Linear { k: "n_embd", ..LM_HEAD }];
const CLASSIFIER: Linear = pooled("", "classifier", "num_labels");

const BARE: Head = Head { class: "Model", path: "", linears: &[], others: "0" };
const CAUSAL: Head = Head { class: "ForCausalLM", path: "model.", linears: &[LM_HEAD], ..BARE };
const CLASSIFYING: Head = Head {
    class: "ForSequenceClassification",
    linears: &[Linear { biases: "0", ..pooled("", "score", "num_labels") }],
    ..CAUSAL
};
/// The end of the class of a model of several media.
pub(super) const MULTIMODAL: &str = "ForConditionalGeneration";

/// The usual decoder.
const fn decoder(model_type: &'static str, norms: Formula, defaults: &'static str) -> Family {
    Family {
        model_type,
        blocks: "layers",
        counts: ["num_hidden_layers", "num_experts"],
        linears: USUAL,
        norms,
        others: "vocab_size*hidden_size + hidden_size",
        heads: &[
            CAUSAL,
            Head { class: MULTIMODAL, path: "model.language_model.", ..CAUSAL },
            CLASSIFYING,
            BARE,
        ],
        defaults,
    }
}

const USUAL: &[&[Linear]] = &[&attention("attention_bias", "attention_bias"), &mlp("0", Block)];
const TWO: Formula = "2*hidden_size";
const FOUR: Formula = "4*hidden_size";
const OF_HEADS_TOO: Formula = "2*hidden_size + 2*head_dim";

/// Every known family.
pub(super) const FAMILIES: &[Family] = &[
    Family {
        linears: &[&attention("attention_bias", "attention_bias"), &mlp("mlp_bias", Block)],
        ..decoder("llama", TWO, "")
    },
    Family {
        linears: &[&attention("0", "0"), &mlp("0", Block)],
        ..decoder("mistral", TWO, "num_key_value_heads=8")
    },
    Family {
        linears: &[&attention("1", "0"), &mlp("0", Block)],
        ..decoder("qwen2", TWO, "num_key_value_heads=32")
    },
    decoder("qwen3", OF_HEADS_TOO, "num_key_value_heads=32 head_dim=128"),
    decoder("gemma", TWO, "num_key_value_heads=16 head_dim=256 tie_word_embeddings=1"),
    decoder("gemma2", FOUR, "num_key_value_heads=4 head_dim=256 tie_word_embeddings=1"),
    decoder(
        "gemma3_text",
        "4*hidden_size + 2*head_dim",
        "vocab_size=262208 num_attention_heads=8 num_key_value_heads=4 head_dim=256 tie_word_embeddings=1",
    ),
    Family {
        linears: &[&[
            biased("self_attn", "q_proj", QUERIES, HIDDEN),
            biased("self_attn", "k_proj", KEYS, HIDDEN),
            biased("self_attn", "v_proj", KEYS, HIDDEN),
            biased("self_attn", "dense", HIDDEN, QUERIES),
            biased("mlp", "fc1", INTERMEDIATE, HIDDEN),
            biased("mlp", "fc2", HIDDEN, INTERMEDIATE),
        ]],
        others: "vocab_size*hidden_size + 2*hidden_size",
        heads: &[
            Head { linears: &[Linear { biases: "1", ..LM_HEAD }], ..CAUSAL },
            CLASSIFYING,
            BARE,
        ],
        ..decoder("phi", "2*hidden_size + 4*qk_layernorm*head_dim", "")
    },
    Family {
        linears: &[&[
            linear("self_attn", "qkv_proj", FUSED, HIDDEN),
            linear("self_attn", "o_proj", HIDDEN, QUERIES),
            linear("mlp", "gate_up_proj", "2*intermediate_size", HIDDEN),
            linear("mlp", "down_proj", HIDDEN, INTERMEDIATE),
        ]],
        ..decoder("phi3", TWO, "")
    },
    Family {
        blocks: "h",
        counts: ["n_layer", "0"],
        linears: &[&[
            conv1d("attn", "c_attn", "3*n_embd", "n_embd"),
            conv1d("attn", "c_proj", "n_embd", "n_embd"),
            conv1d("mlp", "c_fc", "n_inner", "n_embd"),
            conv1d("mlp", "c_proj", "n_embd", "n_inner"),
        ]],
        others: "vocab_size*n_embd + n_positions*n_embd + 2*n_embd",
        heads: &[
            Head { class: "LMHeadModel", path: "transformer.", linears: GPT2_HEAD, ..BARE },
            BARE,
        ],
        ..decoder("gpt2", "4*n_embd", "tie_word_embeddings=1")
    },
    Family {
        blocks: "encoder.layer",
        linears: &[&encoder("attention.self", "1")],
        others: "vocab_size*hidden_size + max_position_embeddings*hidden_size \
                 + type_vocab_size*hidden_size + 2*hidden_size",
        heads: &[
            Head {
                class: "ForMaskedLM",
                path: "bert.",
                linears: &[
                    Linear {
                        place: HeadOfTokens,
                        ..pooled("cls.predictions.transform", "dense", HIDDEN)
                    },
                    Linear {
                        module: Module::Tied,
                        place: HeadOfTokens,
                        ..pooled("cls.predictions", "decoder", "vocab_size")
                    },
                ],
                others: TWO,
            },
            Head {
                path: "bert.",
                linears: &[pooled("bert.pooler", "dense", HIDDEN), CLASSIFIER],
                ..CLASSIFYING
            },
            Head { linears: &[pooled("pooler", "dense", HIDDEN)], ..BARE },
        ],
        ..decoder("bert", FOUR, "tie_word_embeddings=1")
    },
    Family {
        blocks: "encoder.layer",
        linears: &[&encoder("attention.attention", "qkv_bias")],
        others: "image_size/patch_size*image_size/patch_size*hidden_size \
                 + num_channels*patch_size*patch_size*hidden_size + 5*hidden_size",
        heads: &[
            Head { class: "ForImageClassification", path: "vit.", linears: &[CLASSIFIER], ..BARE },
            Head { linears: &[pooled("pooler", "dense", "pooler_output_size")], ..BARE },
        ],
        ..decoder("vit", FOUR, "")
    },
    Family {
        counts: ["num_hidden_layers", "num_local_experts"],
        linears: &[
            &attention("0", "0"),
            &[router("block_sparse_moe", "num_local_experts")],
            &gated("block_sparse_moe.experts.*", ["w1", "w3", "w2"], INTERMEDIATE, "0", Expert),
        ],
        ..decoder("mixtral", TWO, "num_key_value_heads=8")
    },
    Family {
        linears: &[
            &attention("qkv_bias", "0"),
            &mlp("0", DenseBlock),
            &[router("mlp", "num_experts")],
            &QWEN_EXPERTS,
            &gated("mlp.shared_expert", NAMES, SHARED, "0", SparseBlock),
            &[Linear { place: SparseBlock, ..linear("mlp", "shared_expert_gate", "1", HIDDEN) }],
        ],
        ..decoder("qwen2_moe", TWO, "num_key_value_heads=16")
    },
    Family {
        linears: &[
            &attention("attention_bias", "attention_bias"),
            &mlp("0", DenseBlock),
            &[router("mlp", "num_experts")],
            &QWEN_EXPERTS,
        ],
        ..decoder("qwen3_moe", OF_HEADS_TOO, "num_key_value_heads=4")
    },
];

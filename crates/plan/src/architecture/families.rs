//! The known families. Names, biases and defaults are those of Hugging Face's transformers 4.57.6.

use super::family::{Family, Formula, Head, Linear, Place};
use crate::recommendation::Module;

/// Defaults of all families for keys that are missing or null. Those with `$` are no keys of a config: biases of the inputs
/// of an attention, of its output, and of an MLP; and sizes of an embedding and of one norm in each block.
pub(super) const DEFAULTS: &str = "$qkv=attention_bias $o=attention_bias $mlp=0 attention_bias=0 mlp_bias=0 qkv_bias=1 \
    $embedding=vocab_size*hidden_size $norm=num_hidden_layers*hidden_size $head_norm=num_hidden_layers*head_dim \
    head_dim=hidden_size/num_attention_heads num_key_value_heads=num_attention_heads n_inner=4*n_embd \
    decoder_sparse_step=1 num_labels=2 pooler_output_size=hidden_size qk_layernorm=0 tie_word_embeddings=0";

const HIDDEN: Formula = "hidden_size";
const INTERMEDIATE: Formula = "intermediate_size";
const EXPERT: Formula = "moe_intermediate_size";
const SHARED: Formula = "shared_expert_intermediate_size";
/// The quotient is whole only if the heads can share keys evenly.
const QUERIES: Formula = "num_attention_heads/num_key_value_heads*num_key_value_heads*head_dim";
const KEYS: Formula = "num_key_value_heads*head_dim";
const FUSED: Formula = "num_attention_heads*head_dim + 2*num_key_value_heads*head_dim";

type Name = &'static str;

const fn linear(path: Name, name: Name, n: Formula, k: Formula, biases: Formula) -> Linear {
    Linear { path, name, n, k, biases, place: Place::Block, module: Module::Linear }
}

const fn conv1d(path: Name, name: Name, n: Formula, k: Formula) -> Linear {
    Linear { module: Module::Conv1d, ..linear(path, name, n, k, "1") }
}

/// A layer of a head, which reads one token of each sequence.
const fn head(path: Name, name: Name, n: Formula, biases: Formula) -> Linear {
    Linear { place: Place::Head, ..linear(path, name, n, HIDDEN, biases) }
}

/// A layer of a head that reads all tokens.
const fn of_tokens(path: Name, name: Name, n: Formula, module: Module) -> Linear {
    Linear { place: Place::HeadOfTokens, module, ..linear(path, name, n, HIDDEN, "1") }
}

/// Decides which experts a token goes to.
const fn router(path: Name) -> Linear {
    let (place, module) = (Place::SparseBlock, Module::Mixture);
    Linear { place, module, ..linear(path, "gate", "num_experts", HIDDEN, "0") }
}

const fn gated(path: Name, names: [Name; 3], width: Formula, place: Place) -> [Linear; 3] {
    let module = if matches!(place, Place::Expert) { Module::Mixture } else { Module::Linear };
    [
        Linear { place, module, ..linear(path, names[0], width, HIDDEN, "$mlp") },
        Linear { place, module, ..linear(path, names[1], width, HIDDEN, "$mlp") },
        Linear { place, module, ..linear(path, names[2], HIDDEN, width, "$mlp") },
    ]
}

/// A block of BERT or ViT, whose attention reads its inputs in the module `path`.
const fn encoder(path: Name) -> [Linear; 6] {
    [
        linear(path, "query", HIDDEN, HIDDEN, "$qkv"),
        linear(path, "key", HIDDEN, HIDDEN, "$qkv"),
        linear(path, "value", HIDDEN, HIDDEN, "$qkv"),
        linear("attention.output", "dense", HIDDEN, HIDDEN, "1"),
        linear("intermediate", "dense", INTERMEDIATE, HIDDEN, "1"),
        linear("output", "dense", HIDDEN, INTERMEDIATE, "1"),
    ]
}

const ATTENTION: [Linear; 4] = [
    linear("self_attn", "q_proj", QUERIES, HIDDEN, "$qkv"),
    linear("self_attn", "k_proj", KEYS, HIDDEN, "$qkv"),
    linear("self_attn", "v_proj", KEYS, HIDDEN, "$qkv"),
    linear("self_attn", "o_proj", HIDDEN, QUERIES, "$o"),
];
const MLP: [Name; 3] = ["gate_proj", "up_proj", "down_proj"];
const LM_HEAD: Linear = Linear { module: Module::Tied, ..head("", "lm_head", "vocab_size", "0") };
const CLASSIFIER: Linear = head("", "classifier", "num_labels", "1");

const BARE: Head = Head { class: "Model", path: "", linears: &[], others: "0" };
const CAUSAL: Head = Head { class: "ForCausalLM", path: "model.", linears: &[LM_HEAD], ..BARE };
const CLASSIFYING: Head = Head {
    class: "ForSequenceClassification",
    linears: &[head("", "score", "num_labels", "0")],
    ..CAUSAL
};
const OF_SEVERAL_MEDIA: Head = Head { class: MULTIMODAL, path: "model.language_model.", ..CAUSAL };
/// The end of the class of a model of several media.
pub(super) const MULTIMODAL: &str = "ForConditionalGeneration";

/// The embedding, two norms in each block, and the last one.
const TWO_NORMS: Formula = "$embedding + 2*$norm + hidden_size";
const QK_NORMS: Formula = "$embedding + 2*$norm + 2*$head_norm + hidden_size";

/// The usual decoder.
const fn decoder(model_type: Name, others: Formula, defaults: &'static str) -> Family {
    let linears: &[&[Linear]] =
        &[&ATTENTION, &const { gated("mlp", MLP, INTERMEDIATE, Place::Block) }];
    let heads = &[CAUSAL, OF_SEVERAL_MEDIA, CLASSIFYING, BARE];
    Family { model_type, blocks: "layers", linears, others, heads, defaults }
}

/// Every known family.
pub(super) const FAMILIES: &[Family] = &[
    decoder("llama", TWO_NORMS, "$mlp=mlp_bias"),
    decoder("mistral", TWO_NORMS, "$qkv=0 $o=0 num_key_value_heads=8"),
    decoder("qwen2", TWO_NORMS, "$qkv=1 $o=0 num_key_value_heads=32"),
    decoder("qwen3", QK_NORMS, "num_key_value_heads=32 head_dim=128"),
    decoder("gemma", TWO_NORMS, "num_key_value_heads=16 head_dim=256 tie_word_embeddings=1"),
    decoder(
        "gemma2",
        "$embedding + 4*$norm + hidden_size",
        "num_key_value_heads=4 head_dim=256 tie_word_embeddings=1",
    ),
    decoder(
        "gemma3_text",
        "$embedding + 4*$norm + 2*$head_norm + hidden_size",
        "vocab_size=262208 num_attention_heads=8 num_key_value_heads=4 head_dim=256 \
         tie_word_embeddings=1",
    ),
    Family {
        linears: &[&[
            linear("self_attn", "q_proj", QUERIES, HIDDEN, "1"),
            linear("self_attn", "k_proj", KEYS, HIDDEN, "1"),
            linear("self_attn", "v_proj", KEYS, HIDDEN, "1"),
            linear("self_attn", "dense", HIDDEN, QUERIES, "1"),
            linear("mlp", "fc1", INTERMEDIATE, HIDDEN, "1"),
            linear("mlp", "fc2", HIDDEN, INTERMEDIATE, "1"),
        ]],
        heads: &[
            Head { linears: &[Linear { biases: "1", ..LM_HEAD }], ..CAUSAL },
            CLASSIFYING,
            BARE,
        ],
        ..decoder("phi", "$embedding + 2*$norm + 4*qk_layernorm*$head_norm + 2*hidden_size", "")
    },
    Family {
        linears: &[&[
            linear("self_attn", "qkv_proj", FUSED, HIDDEN, "0"),
            linear("self_attn", "o_proj", HIDDEN, QUERIES, "0"),
            linear("mlp", "gate_up_proj", "2*intermediate_size", HIDDEN, "0"),
            linear("mlp", "down_proj", HIDDEN, INTERMEDIATE, "0"),
        ]],
        ..decoder("phi3", TWO_NORMS, "")
    },
    Family {
        blocks: "h",
        linears: &[&[
            conv1d("attn", "c_attn", "3*hidden_size", HIDDEN),
            conv1d("attn", "c_proj", HIDDEN, HIDDEN),
            conv1d("mlp", "c_fc", "n_inner", HIDDEN),
            conv1d("mlp", "c_proj", HIDDEN, "n_inner"),
        ]],
        heads: &[Head { class: "LMHeadModel", path: "transformer.", ..CAUSAL }, BARE],
        ..decoder(
            "gpt2",
            "$embedding + n_positions*hidden_size + 4*$norm + 2*hidden_size",
            "hidden_size=n_embd num_hidden_layers=n_layer tie_word_embeddings=1",
        )
    },
    Family {
        blocks: "encoder.layer",
        linears: &[&encoder("attention.self")],
        heads: &[
            Head {
                class: "ForMaskedLM",
                path: "bert.",
                linears: &[
                    of_tokens("cls.predictions.transform", "dense", HIDDEN, Module::Linear),
                    of_tokens("cls.predictions", "decoder", "vocab_size", Module::Tied),
                ],
                others: "2*hidden_size",
            },
            Head {
                path: "bert.",
                linears: &[head("bert.pooler", "dense", HIDDEN, "1"), CLASSIFIER],
                ..CLASSIFYING
            },
            Head { linears: &[head("pooler", "dense", HIDDEN, "1")], ..BARE },
        ],
        ..decoder(
            "bert",
            "$embedding + max_position_embeddings*hidden_size + type_vocab_size*hidden_size \
             + 4*$norm + 2*hidden_size",
            "$qkv=1 tie_word_embeddings=1",
        )
    },
    Family {
        blocks: "encoder.layer",
        linears: &[&encoder("attention.attention")],
        heads: &[
            Head { class: "ForImageClassification", path: "vit.", linears: &[CLASSIFIER], ..BARE },
            Head { linears: &[head("pooler", "dense", "pooler_output_size", "1")], ..BARE },
        ],
        ..decoder(
            "vit",
            "$patches*hidden_size + num_channels*patch_size*patch_size*hidden_size \
             + 4*$norm + 5*hidden_size",
            "$qkv=qkv_bias $patches=image_size/patch_size*image_size/patch_size",
        )
    },
    Family {
        linears: &[
            &ATTENTION,
            &[router("block_sparse_moe")],
            &gated("block_sparse_moe.experts.*", ["w1", "w3", "w2"], INTERMEDIATE, Place::Expert),
        ],
        ..decoder(
            "mixtral",
            TWO_NORMS,
            "$qkv=0 $o=0 num_key_value_heads=8 num_experts=num_local_experts",
        )
    },
    Family {
        linears: &[
            &ATTENTION,
            &gated("mlp", MLP, INTERMEDIATE, Place::DenseBlock),
            &[router("mlp")],
            &gated("mlp.experts.*", MLP, EXPERT, Place::Expert),
            &gated("mlp.shared_expert", MLP, SHARED, Place::SparseBlock),
            &[Linear {
                place: Place::SparseBlock,
                ..linear("mlp", "shared_expert_gate", "1", HIDDEN, "0")
            }],
        ],
        ..decoder("qwen2_moe", TWO_NORMS, "$qkv=qkv_bias $o=0 num_key_value_heads=16")
    },
    Family {
        linears: &[
            &ATTENTION,
            &gated("mlp", MLP, INTERMEDIATE, Place::DenseBlock),
            &[router("mlp")],
            &gated("mlp.experts.*", MLP, EXPERT, Place::Expert),
        ],
        ..decoder("qwen3_moe", QK_NORMS, "num_key_value_heads=4")
    },
];

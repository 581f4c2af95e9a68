//! The layers and parameters of published models. Their configs hold the keys that give sizes.

use plan::Recipe;
use plan::architecture::{layers_of_yaml, read, sensitivity};
use plan::recommendation::{ModelLayers, Module, Rows, Sensitivity};
use serde_json::{Value, json};

macro_rules! config {
    ($model:literal) => {
        include_str!(concat!("architectures/", $model, ".json"))
    };
}

fn model(text: &str) -> ModelLayers {
    read(text, "it").unwrap_or_else(|error| panic!("{error}"))
}

/// Changes values of a config; null removes a key.
fn changed(text: &str, changes: Value) -> String {
    let mut config: Value = serde_json::from_str(text).expect("JSON");
    for (key, value) in changes.as_object().expect("an object") {
        config[key] = value.clone();
    }
    config.as_object_mut().expect("an object").retain(|_, value| !value.is_null());
    config.to_string()
}

fn error(text: &str, changes: Value) -> String {
    read(&changed(text, changes), "config.json").expect_err("an error").to_string()
}

/// Count, name, n and k.
type Row<'a> = (u64, &'a str, u64, u64);

fn rows(model: &ModelLayers) -> Vec<Row<'_>> {
    model.layers.iter().map(|it| (it.count, &*it.fqn, it.n, it.k)).collect()
}

fn groups(model: &ModelLayers) -> Vec<&str> {
    model.layers.iter().map(|it| &*it.group).collect()
}

/// The totals are `sum(p.numel() for p in model.parameters())` of transformers 4.57.6, which counts tied weights once.
#[test]
fn parameters_add_up_to_the_published_totals() {
    for (text, parameters) in [
        (config!("Llama-3.1-8B"), 8_030_261_248),
        (config!("Mistral-7B-v0.1"), 7_241_732_096),
        (config!("Qwen2.5-0.5B"), 494_032_768),
        (config!("Qwen3-0.6B"), 596_049_920),
        (config!("gemma-2b"), 2_506_172_416),
        (config!("gemma-2-2b"), 2_614_341_888),
        (config!("gemma-3-1b"), 999_885_952),
        // The language model's share; with the encoder of images and its projector there are 4 300 079 472.
        (config!("gemma-3-4b"), 3_880_263_168),
        (config!("phi-2"), 2_779_683_840),
        (config!("Phi-3-mini-4k"), 3_821_079_552),
        (config!("gpt2"), 124_439_808),
        (config!("bert-base-uncased"), 109_514_298),
        (config!("vit-base-patch16-224"), 86_567_656),
        (config!("Mixtral-8x7B-v0.1"), 46_702_792_704),
        (config!("Qwen1.5-MoE-A2.7B"), 14_315_784_192),
        (config!("Qwen3-30B-A3B"), 30_532_122_624),
    ] {
        assert_eq!(model(text).parameters(), parameters, "{text}");
    }
}

#[test]
fn query_heads_share_keys_and_values() {
    let llama = model(config!("Llama-3.1-8B"));
    // 8 heads of keys, each 4096 / 32 = 128 wide: 1024.
    let expected = [
        (32, "model.layers.*.self_attn.q_proj", 4096, 4096),
        (32, "model.layers.*.self_attn.k_proj", 1024, 4096),
        (32, "model.layers.*.self_attn.v_proj", 1024, 4096),
        (32, "model.layers.*.self_attn.o_proj", 4096, 4096),
        (32, "model.layers.*.mlp.gate_proj", 14336, 4096),
        (32, "model.layers.*.mlp.up_proj", 14336, 4096),
        (32, "model.layers.*.mlp.down_proj", 4096, 14336),
        (1, "lm_head", 128_256, 4096),
    ];
    assert_eq!(rows(&llama), expected);
    let (qkv, gate_up) = ("self_attn.qkv", "mlp.gate_up");
    let expected =
        [qkv, qkv, qkv, "self_attn.o_proj", gate_up, gate_up, "mlp.down_proj", "lm_head"];
    assert_eq!(groups(&llama), expected);
    assert_eq!((llama.name.as_str(), llama.family.as_str()), ("it", "llama"));
    // The embedding, two norms in each block, and the last.
    assert_eq!(llama.other_parameters, 128_256 * 4096 + (2 * 32 + 1) * 4096);
    let head = llama.layers.last().expect("a head");
    assert_eq!((head.rows, head.module), (Rows::LastToken, Module::Linear));
    assert!(llama.layers[..7].iter().all(|it| it.rows == Rows::Tokens));
}

#[test]
fn each_expert_is_a_layer() {
    let qwen = model(config!("Qwen3-30B-A3B"));
    // 48 blocks of 128 experts; heads are 128 wide, more than 2048 / 32.
    let expected = [
        (48, "model.layers.*.self_attn.q_proj", 4096, 2048),
        (48, "model.layers.*.self_attn.k_proj", 512, 2048),
        (48, "model.layers.*.self_attn.v_proj", 512, 2048),
        (48, "model.layers.*.self_attn.o_proj", 2048, 4096),
        (48, "model.layers.*.mlp.gate", 128, 2048),
        (6144, "model.layers.*.mlp.experts.*.gate_proj", 768, 2048),
        (6144, "model.layers.*.mlp.experts.*.up_proj", 768, 2048),
        (6144, "model.layers.*.mlp.experts.*.down_proj", 2048, 768),
        (1, "lm_head", 151_936, 2048),
    ];
    assert_eq!(rows(&qwen), expected);
    let (gate_up, down) = ("mlp.experts.gate_up", "mlp.experts.down_proj");
    assert_eq!(groups(&qwen)[4..8], ["mlp.gate", gate_up, gate_up, down]);
    assert_eq!(qwen.layers[4].rows, Rows::Tokens);
    for expert in &qwen.layers[5..8] {
        assert_eq!(expert.rows, Rows::Routed { experts: 128, chosen: 8 });
    }
    let modules: Vec<Module> = qwen.layers.iter().map(|it| it.module).collect();
    assert_eq!(modules[3..9].iter().filter(|it| **it == Module::Mixture).count(), 4);
    assert_eq!((modules[3], modules[8]), (Module::Linear, Module::Linear));
    let mixtral = model(config!("Mixtral-8x7B-v0.1"));
    let (gate_up, down) = ("block_sparse_moe.experts.gate_up", "block_sparse_moe.experts.w2");
    assert_eq!(groups(&mixtral)[4..8], ["block_sparse_moe.gate", gate_up, gate_up, down]);
    assert_eq!(rows(&mixtral)[6].1, "model.layers.*.block_sparse_moe.experts.*.w3");
}

#[test]
fn only_some_blocks_have_experts() {
    // The blocks 1, 3, …, 23 have experts, except 3 and 5. Block 4 has none anyway, and there is no block 99.
    let changes = json!({ "decoder_sparse_step": 2, "mlp_only_layers": [3, 5, 4, 99] });
    let qwen = model(&changed(config!("Qwen1.5-MoE-A2.7B"), changes));
    let count = |name: &str| {
        let layer = qwen.layers.iter().find(|it| it.fqn == format!("model.layers.*.mlp.{name}"));
        layer.map(|it| (it.count, it.n))
    };
    assert_eq!(count("gate"), Some((10, 60)));
    assert_eq!(count("experts.*.up_proj"), Some((10 * 60, 1408)));
    assert_eq!(count("shared_expert.up_proj"), Some((10, 5632)));
    assert_eq!(count("shared_expert_gate"), Some((10, 1)));
    assert_eq!(count("up_proj"), Some((14, 5632)));
}

#[test]
fn gpt2_has_conv1d_and_a_tied_head() {
    let gpt2 = model(config!("gpt2"));
    let expected = [
        (12, "transformer.h.*.attn.c_attn", 2304, 768),
        (12, "transformer.h.*.attn.c_proj", 768, 768),
        (12, "transformer.h.*.mlp.c_fc", 3072, 768),
        (12, "transformer.h.*.mlp.c_proj", 768, 3072),
        (1, "lm_head", 50257, 768),
    ];
    assert_eq!(rows(&gpt2), expected);
    assert_eq!(groups(&gpt2), ["attn.qkv", "attn.c_proj", "mlp.c_fc", "mlp.c_proj", "lm_head"]);
    let (head, blocks) = gpt2.layers.split_last().expect("layers");
    assert!(blocks.iter().all(|it| it.module == Module::Conv1d));
    assert_eq!((head.module, head.parameters()), (Module::Tied, 0));
    // Embeddings of tokens and positions; in each block two norms of 2 · 768 and biases of 9 · 768; the last norm.
    assert_eq!(gpt2.other_parameters, (50257 + 1024) * 768 + 12 * (4 + 9) * 768 + 2 * 768);
    // Without a tie, the head adds a matrix.
    let untied = model(&changed(config!("gpt2"), json!({ "tie_word_embeddings": false })));
    assert_eq!(untied.parameters(), gpt2.parameters() + 50257 * 768);
    assert_eq!(untied.layers[4].module, Module::Linear);
}

#[test]
fn the_class_decides_the_head() {
    let of_class = |text, class: &str| model(&changed(text, json!({ "architectures": [class] })));
    let bert = config!("bert-base-uncased");
    // The total that is quoted for BERT is that of the model with its pooler.
    let bare = of_class(bert, "BertModel");
    assert_eq!(bare.parameters(), 109_482_240);
    assert_eq!(rows(&bare)[0].1, "encoder.layer.*.attention.self.query");
    assert_eq!(rows(&bare)[6], (1, "pooler.dense", 768, 768));
    assert_eq!(bare.layers[6].rows, Rows::LastToken);
    // Two labels: 2 · 768 weights and 2 biases more.
    let classifier = of_class(bert, "BertForSequenceClassification");
    assert_eq!(classifier.parameters(), 109_482_240 + 2 * 769);
    assert_eq!(
        rows(&classifier)[6..],
        [(1, "bert.pooler.dense", 768, 768), (1, "classifier", 2, 768)]
    );
    let masked = model(bert);
    let head = masked.layers.last().expect("a head");
    assert_eq!((&*head.fqn, head.rows), ("cls.predictions.decoder", Rows::Tokens));
    assert_eq!(head.module, Module::Tied);

    let llama = of_class(config!("Llama-3.1-8B"), "LlamaModel");
    assert_eq!(llama.parameters(), 8_030_261_248 - 128_256 * 4096);
    assert_eq!(rows(&llama).last(), Some(&(32, "layers.*.mlp.down_proj", 4096, 14336)));
    let labels = json!({ "architectures": ["LlamaForSequenceClassification"], "id2label": { "0": "a", "1": "b", "2": "c" } });
    let llama = model(&changed(config!("Llama-3.1-8B"), labels));
    assert_eq!(rows(&llama)[7], (1, "score", 3, 4096));

    let gemma = model(config!("gemma-3-4b"));
    assert_eq!(gemma.family, "gemma3_text");
    assert_eq!(rows(&gemma)[1], (34, "model.language_model.layers.*.self_attn.k_proj", 1024, 2560));
    assert_eq!(rows(&gemma)[7], (1, "lm_head", 262_208, 2560));
}

#[test]
fn keys_of_transformers_have_its_defaults() {
    let key_rows = |text, changes| model(&changed(text, changes)).layers[1].n;
    let null_heads = config!("Mistral-7B-v0.1")
        .replace("\"num_key_value_heads\": 8", "\"num_key_value_heads\": null");
    assert_eq!(model(&null_heads).layers[1].n, 4096);
    let missing = || json!({ "num_key_value_heads": null });
    assert_eq!(key_rows(config!("Mistral-7B-v0.1"), missing()), 8 * 128);
    assert_eq!(key_rows(config!("Llama-3.1-8B"), missing()), 4096);
    assert_eq!(key_rows(config!("Qwen3-0.6B"), json!({ "head_dim": null })), 8 * 128);
    assert_eq!(key_rows(config!("Qwen3-0.6B"), json!({ "head_dim": 64 })), 8 * 64);
    assert_eq!(model(&changed(config!("gpt2"), json!({ "n_inner": 1000 }))).layers[2].n, 1000);
    // Biases of q, k, v and o in each block.
    let biased = model(&changed(config!("Llama-3.1-8B"), json!({ "attention_bias": true })));
    assert_eq!(biased.parameters(), 8_030_261_248 + 32 * (4096 + 1024 + 1024 + 4096));
}

#[test]
fn mistakes_are_named() {
    let (llama, qwen) = (config!("Llama-3.1-8B"), config!("Qwen3-30B-A3B"));
    let remedy = "write a whole number from 1 to 16777216";
    for (text, changes, expected) in [
        (
            llama,
            json!({ "num_attention_heads": null }),
            "num_attention_heads: missing; add it: every llama model has it",
        ),
        (
            llama,
            json!({ "hidden_size": "4096" }),
            &*format!("hidden_size: it is \"4096\"; {remedy}"),
        ),
        (llama, json!({ "vocab_size": 0 }), &format!("vocab_size: it is 0; {remedy}")),
        (
            llama,
            json!({ "head_dim": 1_u64 << 60 }),
            &format!("head_dim: it is {}; {remedy}", 1_u64 << 60),
        ),
        (llama, json!({ "attention_bias": 1 }), "attention_bias: it is 1; write true or false"),
        (
            llama,
            json!({ "num_attention_heads": 24 }),
            "hidden_size: 4096 is not a multiple of num_attention_heads, 24; correct one of the two",
        ),
        (
            llama,
            json!({ "num_key_value_heads": 5 }),
            "num_attention_heads: 32 is not a multiple of num_key_value_heads, 5; correct one of the two",
        ),
        (
            llama,
            json!({ "architectures": null }),
            "architectures: it is null; name a class first that ends in …ForCausalLM, …ForSequenceClassification, …Model",
        ),
        (
            config!("gpt2"),
            json!({ "architectures": ["GPT2DoubleHeadsModel"] }),
            "architectures: it is [\"GPT2DoubleHeadsModel\"]; name a class first that ends in …LMHeadModel, …Model",
        ),
        (
            config!("gpt2"),
            json!({ "n_layer": null }),
            "n_layer: missing; add it: every gpt2 model has it",
        ),
        (
            config!("vit-base-patch16-224"),
            json!({ "patch_size": 15 }),
            "image_size: 224 is not a multiple of patch_size, 15; correct one of the two",
        ),
        (
            qwen,
            json!({ "num_experts_per_tok": 129 }),
            "num_experts_per_tok: 129 is more than the 128 experts; correct one of the two",
        ),
        (
            qwen,
            json!({ "mlp_only_layers": 3 }),
            "mlp_only_layers: invalid type: integer `3`, expected a sequence; list numbers of blocks, counted from 0",
        ),
        (
            config!("gemma-3-4b"),
            json!({ "text_config": { "model_type": "gemma3_text" } }),
            "text_config.hidden_size: missing; add it: every gemma3_text model has it",
        ),
        (
            config!("gemma-3-4b"),
            json!({ "text_config": null }),
            "text_config: no object; add the config of the language model",
        ),
    ] {
        assert_eq!(error(text, changes), format!("config.json: {expected}"));
    }
    let known = "llama, mistral, qwen2, qwen3, gemma, gemma2, gemma3_text, phi, phi3, gpt2, bert, vit, mixtral, qwen2_moe, \
                 qwen3_moe, gemma3, llava, llava_next, mistral3";
    let expected = format!(
        "config.json: model_type: \"falcon\" is not known; use one of {known}; or list the model's layers in a YAML file"
    );
    assert_eq!(error(llama, json!({ "model_type": "falcon" })), expected);
    let error = read("[1]", "config.json").expect_err("no object").to_string();
    assert!(error.starts_with("config.json: it is not a JSON object: invalid type"), "{error}");
}

#[test]
fn sizes_beyond_all_bounds_saturate() {
    let most = 1 << 24;
    let changes = json!({
        "hidden_size": most, "num_hidden_layers": most, "num_attention_heads": most, "num_key_value_heads": most,
        "head_dim": most, "vocab_size": most, "attention_bias": true,
    });
    assert_eq!(model(&changed(config!("Llama-3.1-8B"), changes)).parameters(), u64::MAX);
}

#[test]
fn layers_are_listed_in_yaml() {
    let text = "
name: mine
layers:
- { fqn: proj, n: 512, k: 768 }
- { fqn: blocks.*.experts.*.up, n: 1408, k: 2048, count: 240, group: experts.up,
    rows: { routed: { experts: 60, chosen: 4 } }, module: mixture }
- { fqn: head, n: 1000, k: 512, rows: last_token }
other_parameters: 7
";
    let mine = layers_of_yaml(text, "mine.yml").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((mine.name.as_str(), mine.family.as_str()), ("mine", "layers"));
    let expected =
        [(1, "proj", 512, 768), (240, "blocks.*.experts.*.up", 1408, 2048), (1, "head", 1000, 512)];
    assert_eq!(rows(&mine), expected);
    assert_eq!(groups(&mine), ["proj", "experts.up", "head"]);
    let rows: Vec<Rows> = mine.layers.iter().map(|it| it.rows).collect();
    assert_eq!(rows, [Rows::Tokens, Rows::Routed { experts: 60, chosen: 4 }, Rows::LastToken]);
    let modules: Vec<Module> = mine.layers.iter().map(|it| it.module).collect();
    assert_eq!(modules, [Module::Linear, Module::Mixture, Module::Linear]);
    assert_eq!(mine.parameters(), 512 * 768 + 240 * 1408 * 2048 + 1000 * 512 + 7);
    let nameless = layers_of_yaml("layers: [{ fqn: a, n: 1, k: 2 }]", "mine.yml");
    assert_eq!(nameless.map(|it| it.name), Ok("mine.yml".to_owned()));
}

#[test]
fn mistakes_in_yaml_are_named() {
    for (layer, expected) in [
        ("{ fqn: a, n: 1 }", "layers[0]: missing field `k`"),
        ("{ fqn: a, n: x, k: 1 }", "layers[0].n: invalid type: string \"x\""),
        ("{ fqn: a, n: 0, k: 1 }", "layers[0].n: invalid value: integer `0`"),
        ("{ fqn: a, n: 1, k: 1, m: 3 }", "layers[0]: unknown field `m`"),
        ("{ fqn: a, n: 1, k: 1, rows: some }", "layers[0].rows: unknown variant `some`"),
        (
            "{ fqn: a, n: 1, k: 1 }, { fqn: a, n: 1, k: 1 }",
            "layers[1].fqn: a stands above, too; add up",
        ),
        (
            "{ fqn: a, n: 1, k: 1, count: 4, rows: { routed: { experts: 4, chosen: 5 } } }",
            "layers[0].rows.routed.chosen: 5 of 4 experts; choose",
        ),
        (
            "{ fqn: a, n: 1, k: 1, count: 6, rows: { routed: { experts: 4, chosen: 2 } } }",
            "layers[0].count: 6 is not a multiple of the 4 experts; count",
        ),
        ("", "layers: it is empty; list at least one"),
    ] {
        let error = layers_of_yaml(&format!("layers: [{layer}]"), "mine.yml").expect_err(layer);
        let error = error.to_string();
        assert!(error.starts_with(&format!("mine.yml: {expected}")), "{error}");
    }
}

#[test]
fn accuracy_from_elsewhere_is_read() {
    let model = model(config!("Qwen2.5-0.5B"));
    let text = r#"{
        "sqnr_db": {
            "model.layers.0.mlp.down_proj": {"int8dq": 30, "float8dq": 25.5},
            "model.layers.23.mlp.down_proj": {"int8dq": 28}
        },
        "loss": {"model.layers.*.mlp.down_proj": {"int4wo-64": 0.25}},
        "max_loss": 0.1
    }"#;
    let read = sensitivity(text, "s.json", &model).expect("it is fine");
    let layers = |end: &str| model.layers.iter().find(|it| it.fqn.ends_with(end)).expect("a layer");
    let (down, up) = (layers("down_proj"), layers("up_proj"));
    let decibels =
        |layers: &_, recipe| Sensitivity::of(&read.sqnr_db, layers, recipe).collect::<Vec<_>>();
    assert_eq!(decibels(down, Recipe::INT8DQ), [30.0, 28.0]);
    assert_eq!(decibels(down, Recipe::Float8dqTensor), [25.5], "another word for it");
    assert!(decibels(down, Recipe::INT8WO).is_empty());
    assert!(decibels(up, Recipe::INT8DQ).is_empty());
    let int4wo = "int4wo-64".parse().expect("a recipe");
    let losses: Vec<f64> = Sensitivity::of(&read.loss, down, int4wo).collect();
    assert_eq!((losses, read.max_loss), (vec![0.25], Some(0.1)));
    for (text, said) in [
        ("sqnr: {}", "unknown field `sqnr`, expected one of `sqnr_db`, `loss`, `max_loss`"),
        (
            "sqnr_db: { model.layers.*.mlp.dwn_proj: { int8dq: 1 } }",
            "s.yml: sqnr_db: unknown layer `model.layers.*.mlp.dwn_proj`; did you mean \
             `model.layers.*.mlp.down_proj`?",
        ),
        ("loss: { model.layers.x.mlp.down_proj: { int8dq: 1 } }", "loss: unknown layer"),
        (
            "sqnr_db: { lm_head: { int8dqq: 1 } }",
            "s.yml: sqnr_db.lm_head: unknown recipe `int8dqq`; did you mean `int8dq`?",
        ),
        (
            "sqnr_db: { lm_head: { int8dq: .nan } }",
            "sqnr_db.lm_head: int8dq: NaN; write a finite number",
        ),
        ("loss: { lm_head: { int8dq: 1 } }", "s.yml: max_loss: losses have no limit; write the"),
    ] {
        let error = sensitivity(text, "s.yml", &model).expect_err(text).to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn blocks_have_the_heads_of_their_config() {
    let heads = |text: &str| {
        let model = model(text);
        let is_block = model.block_layers().is_ok();
        let heads = model.attention.map(|it| [it.heads, it.key_value_heads, it.head_width]);
        (heads, is_block)
    };
    assert_eq!(heads(config!("Qwen2.5-0.5B")), (Some([14, 2, 64]), true));
    assert_eq!(heads(config!("Qwen3-0.6B")), (Some([16, 8, 128]), true));
    assert_eq!(heads(config!("Phi-3-mini-4k")), (Some([32, 32, 96]), true));
    assert_eq!(heads(config!("Mixtral-8x7B-v0.1")), (Some([32, 8, 128]), false));
    assert_eq!(heads(config!("gpt2")), (None, false));
}

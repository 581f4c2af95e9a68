//! Upstream's shapes and recipes, and the rules of the expansion.

use std::path::Path;

use plan::{Case, Config, Dtype, MAX_ID, MAX_PART, Regime, Role, Threads, expand};

use crate::common::{models, parse, plan_of};

fn variant(case: &Case) -> plan::Variant {
    case.work.model().expect("a model").variant
}

fn shapes(set: &str) -> Vec<(String, [u64; 3])> {
    let text = format!("model_params: {{ matrix_shapes: [{set}] }}");
    let config = parse(&text).unwrap_or_else(|errors| panic!("{errors}"));
    let pair = |(name, s): &(String, plan::Shape)| (name.clone(), [s.m, s.k, s.n]);
    models(&config)[0].sizes.iter().map(pair).collect()
}

fn named(rows: &[(&str, [u64; 3])]) -> Vec<(String, [u64; 3])> {
    rows.iter().map(|(name, shape)| ((*name).to_owned(), *shape)).collect()
}

#[test]
fn lists_have_upstreams_shapes_in_upstreams_order() {
    assert_eq!(
        shapes("{ name: llama }"),
        named(&[
            ("llama_attn.wqkv", [16384, 8192, 1280]),
            ("llama_attn.w0", [16384, 1024, 8192]),
            ("llama_ffn.w13", [16384, 8192, 7168]),
            ("llama_ffn.w2", [16384, 3584, 8192]),
        ])
    );
    assert_eq!(
        shapes("{ name: llama4 }"),
        named(&[
            ("llama4_FFN", [16384, 8192, 5120]),
            ("llama4_QO_proj", [16384, 8192, 8192]),
            ("llama4_KV_proj", [16384, 8192, 1024]),
            ("llama4_FFN", [128_000, 8192, 5120]),
            ("llama4_QO_proj", [128_000, 8192, 8192]),
            ("llama4_KV_proj", [128_000, 8192, 1024]),
        ])
    );
    for (set, first, second) in [
        ("deepseek_v3_236b", ("FFN", [1536, 5120]), ("QKVO_proj", [7168, 7168])),
        ("deepseek_v3_671b", ("FFN", [2048, 7168]), ("QKVO_proj", [7168, 7168])),
        ("qwen3_32b", ("QO_proj", [5120, 5120]), ("KV_proj", [5120, 640])),
        ("gemma3_27b", ("QO_proj", [4096, 4096]), ("KV_proj", [4096, 1024])),
    ] {
        let expected: Vec<(String, [u64; 3])> = [16384, 128_000]
            .into_iter()
            .flat_map(|m| [first, second].map(|(l, [k, n])| (format!("{set}_{l}"), [m, k, n])))
            .collect();
        assert_eq!(shapes(&format!("{{ name: {set} }}")), expected, "{set}");
    }
}

#[test]
fn generated_sets_have_upstreams_shapes_and_names() {
    let sides = |set: &str| shapes(set).iter().map(|(_, [m, ..])| *m).collect::<Vec<_>>();
    assert_eq!(sides("{ name: pow2, min_power: 10, max_power: 12 }"), [1024, 2048, 4096]);
    assert_eq!(sides("{ name: pow2 }"), [1024, 2048, 4096, 8192, 16384]);
    let extended = "{ name: pow2_extended, min_power: 10, max_power: 11 }";
    assert_eq!(sides(extended), [1024, 1536, 2048, 3072]);
    assert_eq!(shapes(extended)[3].0, "pow2_extended_3");
    let sweep = shapes("{ name: sweep, min_power: 8, max_power: 9 }");
    assert_eq!(sweep.len(), 8);
    assert_eq!(sweep[1], ("sweep_1".to_owned(), [256, 256, 512]));
    assert!(sweep.iter().all(|(_, shape)| shape.iter().all(|side| [256, 512].contains(side))));
    assert_eq!(shapes("{ name: sweep }").len(), 512);
    assert_eq!(shapes("{ name: small_sweep }").len(), 35);
    let small = shapes("{ name: small_sweep, min_power: 10, max_power: 15 }");
    assert_eq!(small.len(), 56);
    assert!(small.iter().all(|(_, [m, k, n])| m <= k && k <= n));
    assert_eq!(shapes("{ name: custom, shapes: [[2, 3, 4]] }"), named(&[("custom", [2, 3, 4])]));
}

fn variants_of(config: &str) -> Vec<String> {
    plan_of(config).cases().map(|case| case.id.variant.clone()).collect()
}

/// The variants of the only group.
fn variants(recipes: &str, sparsities: &str) -> Vec<String> {
    variants_of(&format!(
        "quantization_config_recipe_names: {recipes}\n\
         sparsity_config_recipe_names: {sparsities}\n\
         model_params: {{ model_type: linear }}\n"
    ))
}

#[test]
fn sparsity_pairs_as_upstream_does() {
    assert_eq!(variants("[int8dq]", "[null]"), ["baseline", "int8dq"]);
    assert_eq!(
        variants("[int8wo, int8dq, float8dq-tensor, float8wo]", "[null, 2:4]"),
        [
            "baseline",
            "int8wo",
            "int8wo+packed",
            "int8dq",
            "float8dq-tensor",
            "float8wo",
            "int8dq+semi-sparse",
            "float8dq-tensor+semi-sparse",
        ]
    );
    assert_eq!(variants("[baseline]", "[semi-sparse]"), ["baseline", "baseline+semi-sparse"]);
    assert_eq!(variants("[int8dq]", "[block]"), ["baseline", "int8dq", "baseline+block"]);
    let errors = parse("sparsity_config_recipe_names: [\"None\"]\nmodel_params: {}").unwrap_err();
    assert!(errors.to_string().contains("unknown sparsity `None`"), "{errors}");
}

#[test]
fn every_group_has_one_baseline_and_it_is_first() {
    let plan = plan_of(
        "quantization_config_recipe_names: [int8wo, baseline, int8wo]\n\
         model_params:\n  - matrix_shapes: [{ name: pow2 }]\n    compile: default\n",
    );
    assert_eq!(plan.groups.len(), 5);
    for group in &plan.groups {
        let roles: Vec<Role> = group.cases.iter().map(|case| case.role).collect();
        assert_eq!(roles[0], Role::Baseline);
        assert_eq!(roles.iter().filter(|role| **role == Role::Baseline).count(), 1);
        // baseline, baseline+compile, int8wo, int8wo+packed, int8wo+compile: the repeated recipe
        // counts once.
        assert_eq!(roles.len(), 5);
    }
}

#[test]
fn identical_cases_are_one_and_keep_their_names() {
    let plan = plan_of(
        "model_params:\n\
         \x20 - name: a\n    enable_profiler: true\n    matrix_shapes:\n\
         \x20     - { name: custom, shapes: [[1024, 1024, 1024]] }\n\
         \x20     - { name: pow2, min_power: 10, max_power: 10 }\n\
         \x20 - name: b\n    matrix_shapes: [{ name: sweep, min_power: 10, max_power: 10 }]\n",
    );
    let cases: Vec<_> = plan.cases().collect();
    assert_eq!(cases.len(), 1);
    assert_eq!(cases[0].shape_names, ["custom", "pow2_0", "sweep_0"]);
    assert_eq!(cases[0].names, ["a", "b"]);
    assert!(cases[0].profiling.profiler);
}

#[test]
fn the_transformer_block_ignores_n() {
    let plan = plan_of(
        "model_params:\n  model_type: transformer_block\n\
         \x20 matrix_shapes: [{ name: custom, shapes: [[2, 64, 64], [2, 64, 128]] }]\n",
    );
    let ids: Vec<String> = plan.cases().map(plan::Case::full_id).collect();
    assert_eq!(ids, ["inference/test/transformer_block/cpu/baseline/bf16-2x64x64"]);
}

#[test]
fn out_adds_a_sibling_behind_every_eager_dense_variant() {
    let recipes = "quantization_config_recipe_names: [baseline, int8wo]\n\
                   sparsity_config_recipe_names: [semi-sparse]\n";
    let expected = [
        "baseline",
        "baseline+out",
        "baseline+compile",
        "int8wo",
        "int8wo+packed",
        "int8wo+out",
        "int8wo+compile",
        "baseline+semi-sparse",
        "baseline+semi-sparse+compile",
    ];
    assert_eq!(
        variants_of(&format!("{recipes}model_params: {{ compile: true, out: true }}")),
        expected
    );
    // At the top for every model, where a model may say no.
    assert_eq!(variants_of("out: true\nmodel_params: {}"), ["baseline", "baseline+out"]);
    assert_eq!(variants_of("out: true\nmodel_params: { out: false }"), ["baseline"]);
    assert_eq!(variants_of("model_params: { out: false }"), ["baseline"]);
}

#[test]
fn cuda_graph_adds_a_sibling_behind_every_eager_variant_sparse_ones_included() {
    let recipes = "quantization_config_recipe_names: [baseline, int8wo]\n\
                   sparsity_config_recipe_names: [semi-sparse]\n";
    let expected = [
        "baseline",
        "baseline+out",
        "baseline+graph",
        "baseline+compile",
        "int8wo",
        "int8wo+packed",
        "int8wo+out",
        "int8wo+graph",
        "int8wo+compile",
        "baseline+semi-sparse",
        "baseline+semi-sparse+graph",
        "baseline+semi-sparse+compile",
    ];
    let params = "model_params: { compile: true, out: true, cuda_graph: true }";
    assert_eq!(variants_of(&format!("{recipes}{params}")), expected);
    assert_eq!(variants_of("cuda_graph: true\nmodel_params: {}"), ["baseline", "baseline+graph"]);
    assert_eq!(variants_of("cuda_graph: true\nmodel_params: { cuda_graph: false }"), ["baseline"]);

    let plan = plan_of("model_params: { device: cuda, cuda_graph: true }");
    let [baseline, graph] = plan.cases().collect::<Vec<_>>()[..] else { panic!("two cases") };
    assert_eq!((baseline.role, graph.role), (Role::Baseline, Role::Candidate));
    assert_eq!(graph.full_id(), "inference/test/linear/cuda/baseline+graph/bf16-1024x1024x1024");
    // A record of a case without a graph is written as before there were any.
    let written = |case| serde_json::to_value::<&Case>(case).expect("a case serialises");
    assert_eq!(
        (written(baseline).get("graph"), written(graph)["graph"].as_bool()),
        (None, Some(true))
    );
}

#[test]
fn the_unquantized_model_in_other_dtypes_stands_behind_the_baseline() {
    let recipes = "quantization_config_recipe_names: [int8dq]\n";
    let two = format!(
        "{recipes}unquantized_dtypes: [float32, bfloat16, torch.float16]\nmodel_params: {{}}"
    );
    // Its own dtype is the baseline's already.
    let expected = ["baseline", "baseline+float32", "baseline+float16", "int8dq"];
    assert_eq!(variants_of(&two), expected);
    let none = format!(
        "unquantized_dtypes: [float32]\n{recipes}model_params: {{ unquantized_dtypes: [bfloat16] }}"
    );
    assert_eq!(variants_of(&none), ["baseline", "int8dq"]);
    let compiled = "model_params: { compile: true, unquantized_dtypes: [float32] }";
    let expected = ["baseline", "baseline+compile", "baseline+float32", "baseline+float32+compile"];
    assert_eq!(variants_of(compiled), expected);

    // A sibling: the id has the dtype of the group, and everything else is in its own.
    let plan = plan_of("model_params: { unquantized_dtypes: [float32] }");
    let [baseline, other] = plan.cases().collect::<Vec<_>>()[..] else { panic!("two cases") };
    assert_eq!((baseline.role, other.role), (Role::Baseline, Role::Candidate));
    assert_eq!(other.full_id(), "inference/test/linear/cpu/baseline+float32/bf16-1024x1024x1024");
    assert_eq!((baseline.dtype, other.dtype), (Dtype::BFloat16, Dtype::Float32));
    let read: Case =
        serde_json::from_value(serde_json::to_value(other).expect("serialises")).expect("reads");
    assert_eq!(&read, other);
}

#[test]
fn packed_stands_behind_its_eager_sibling_where_libtorch_has_the_op() {
    let packed = ["baseline", "int8wo", "int8wo+packed", "uintx-4-64", "uintx-4-64+packed"];
    assert_eq!(variants("[int8wo, uintx-4-64]", "[null]"), packed);
    // The op takes four groups of 4-bit weights.
    assert_eq!(variants("[uintx-4-16, uintx-5-64]", "[null]").len(), 3);
    let variants_of =
        |text: &str| variants_of(&format!("quantization_config_recipe_names: [int8wo]\n{text}"));
    let without = ["baseline", "int8wo"];
    assert_eq!(variants_of("packed: false\nmodel_params: {}"), without);
    assert_eq!(variants_of("model_params: { packed: false }"), without);
    let with = ["baseline", "int8wo", "int8wo+packed"];
    assert_eq!(variants_of("packed: false\nmodel_params: { packed: true }"), with);
}

#[test]
fn an_out_case_is_a_candidate_with_an_id_of_its_own() {
    let plan = plan_of("quantization_config_recipe_names: [int8dq]\nmodel_params: { out: true }");
    let cases: Vec<_> = plan.cases().collect();
    let roles = [Role::Baseline, Role::Candidate, Role::Candidate, Role::Candidate];
    assert_eq!(cases.iter().map(|case| case.role).collect::<Vec<_>>(), roles);
    let preallocated = [false, true, false, true];
    assert_eq!(
        cases.iter().map(|case| variant(case).preallocated).collect::<Vec<_>>(),
        preallocated
    );
    assert_eq!(cases[3].full_id(), "inference/test/linear/cpu/int8dq+out/bf16-1024x1024x1024");
}

#[test]
fn a_model_with_out_and_its_twin_without_share_what_they_have_in_common() {
    let plan = plan_of("model_params:\n  - { name: a, out: true }\n  - { name: b }\n");
    let cases: Vec<_> =
        plan.cases().map(|case| (variant(case).preallocated, case.names.clone())).collect();
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    assert_eq!(cases, [(false, names(&["a", "b"])), (true, names(&["a"]))]);
}

#[test]
fn passes_inherit_key_by_key() {
    let config = parse(
        "sampling: { target: 0.02, warm_up_s: 0.1, regime: sustained }\nlatency: { calls: 500 }\n\
         energy: { window_s: 3 }\n\
         model_params:\n  - {}\n\
         \x20 - { sampling: { target: 0.005 }, latency: {}, energy: { subtract_idle: true } }\n\
         \x20 - { energy: false, latency: { calls: 10 } }\n",
    )
    .unwrap_or_else(|errors| panic!("{errors}"));
    let [top, inner, off] = models(&config) else { panic!("three models") };
    assert_eq!(top.settings.sampling.target, Some(0.02));
    assert_eq!(top.settings.energy.window_s, 3.0);
    assert!(top.settings.energy.enabled && !top.settings.energy.subtract_idle);
    assert_eq!(inner.settings.sampling.target, Some(0.005));
    assert_eq!(inner.settings.sampling.warm_up_s, Some(0.1));
    assert_eq!(inner.settings.sampling.regime(), Regime::Sustained);
    assert_eq!(inner.settings.latency.calls, Some(500));
    assert_eq!(inner.settings.energy.window_s, 3.0);
    assert!(inner.settings.energy.enabled && inner.settings.energy.subtract_idle);
    assert!(!off.settings.energy.enabled);
    assert_eq!(off.settings.latency.calls, Some(10));

    // A mapping in a model switches on what the top switched off.
    let config = parse("energy: false\nmodel_params: { energy: { window_s: 2 } }").expect("valid");
    assert!(models(&config)[0].settings.energy.enabled);
}

#[test]
fn one_id_with_two_targets_is_an_error() {
    let config = parse(
        "model_params:\n  - { latency: { calls: 20 } }\n\
         \x20 - { sampling: { target: 0.1 }, energy: false }\n",
    );
    let errors = expand(&[config.expect("valid")]).expect_err("two settings for one id");
    let text = errors.to_string();
    assert!(text.contains("a different `sampling`, `latency`, `energy`"), "{text}");
}

#[test]
fn the_hash_is_of_the_text_and_part_of_nothing_else() {
    let (plain, edited) = ("model_params: {}", "model_params: {}  # measured twice");
    let cases = [plain, edited, plain].map(|text| plan_of(text).groups[0].cases[0].clone());
    let hashes = cases.each_ref().map(|case| case.config_hash.as_str());
    assert!(
        hashes[0].len() == 16 && hashes[0].bytes().all(|b| b.is_ascii_hexdigit()),
        "{hashes:?}"
    );
    assert_ne!(hashes[0], hashes[1]);
    assert_eq!(hashes[0], hashes[2]);
    assert_eq!(cases[0].id, cases[1].id);
    assert_eq!(cases[0].settings, cases[1].settings);

    // Records from before the hash, the preallocated output, the packed op and compilation are still
    // read.
    let mut old = serde_json::to_value(&cases[0]).expect("a case serialises");
    let fields = old.as_object_mut().expect("an object");
    for field in ["config_hash", "preallocated", "packed"] {
        assert!(fields.remove(field).is_some(), "{field}");
    }
    let settings = fields.get_mut("settings").and_then(|it| it.as_object_mut()).expect("settings");
    assert!(settings.remove("compile_timeout_s").is_some());
    let read: plan::Case = serde_json::from_value(old).expect("all of them are optional");
    assert_eq!(read.settings.compile_timeout_s, 600.0);
    let plan::Variant { preallocated, packed, .. } = variant(&read);
    assert_eq!((read.config_hash.as_str(), preallocated, packed), ("", false, false));
}

#[test]
fn merge_keys_are_merged() {
    let plan = plan_of(
        "model_params:\n  - &first { name: a, model_type: ln_linear_relu, threads: 2 }\n\
         \x20 - { <<: *first, name: b, model_type: ln_linear_gelu }\n",
    );
    let last = plan.cases().last().expect("two models");
    assert_eq!((last.names[0].as_str(), last.settings.threads), ("b", Threads::Count(2)));
}

/// As PyYAML merges: the last of several wins, the first of a list, and above all what is written out. Tags of YAML's own
/// types change nothing.
#[test]
fn several_merge_keys_are_merged() {
    let shapes =
        |rows: u64| format!("matrix_shapes: [{{ name: custom, shapes: [[{rows}, 1, 1]] }}]");
    let [a, b, c, d] = [1, 2, 3, 4].map(shapes);
    let plan = plan_of(&format!(
        "model_params:\n\
         \x20 - &one {{ name: one, threads: 2, {a} }}\n\
         \x20 - &two {{ name: ü, threads: 3, {b} }}\n\
         \x20 - {{ <<: *one, {c}, <<: *two }}\n\
         \x20 - <<: *two\n\
         \x20   {d}\n\
         \x20   <<: [*one, *two]\n\
         \x20   name: !!str last\n"
    ));
    let found: Vec<_> = plan.groups.iter().map(|group| &group.cases[0]).collect();
    let said = |at: usize| (found[at].names[0].as_str(), found[at].settings.threads);
    assert_eq!(found.len(), 4);
    assert_eq!(said(2), ("ü", Threads::Count(3)));
    assert_eq!(said(3), ("last", Threads::Count(2)));
}

#[test]
fn a_list_of_ones_own_lies_beside_the_config() {
    let folder = std::env::temp_dir().join(format!("plan-shapes-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("shapes")).expect("writable");
    let list = folder.join("shapes/mine.yml");
    let read = |text: &str| {
        std::fs::write(&list, text).expect("writable");
        let config = "model_params: { matrix_shapes: [{ name: mine }] }";
        Config::parse(&folder.join("own.yml"), config)
    };
    let config = read("- { label: up, shape: [1, 2, 3] }\n").expect("a valid list");
    assert_eq!(models(&config)[0].sizes, [("mine_up".to_owned(), plan::Shape::new(1, 2, 3))]);
    for (text, message) in [
        ("- { label: up, shape: [0, 2, 3] }", "`up` has a dimension outside 1 to 16777216"),
        ("- { label: up, shape: [99999999999, 2, 3] }", "`up` has a dimension outside"),
        ("- { label: up, shapes: [1, 2, 3] }", "unknown field `shapes`"),
    ] {
        let errors = read(text).unwrap_err().to_string();
        assert!(errors.contains(message) && errors.contains("mine.yml"), "{errors}");
    }
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

#[test]
fn one_id_with_two_settings_is_an_error() {
    let config = parse("model_params:\n  - { name: a, threads: 1 }\n  - { name: b, threads: 2 }\n");
    let errors = expand(&[config.unwrap()]).unwrap_err();
    assert!(errors.to_string().contains("with a different `threads`"), "{errors}");
    assert!(errors.to_string().contains("a config of its own"), "{errors}");
}

#[test]
fn ids_do_not_depend_on_the_order_of_the_file() {
    let text = |recipes: &str, sets: &str| {
        format!(
            "quantization_config_recipe_names: {recipes}\nmodel_params: {{ matrix_shapes: {sets} }}"
        )
    };
    let ids = |text: &str| {
        let mut ids: Vec<String> = plan_of(text).cases().map(plan::Case::full_id).collect();
        ids.sort();
        ids
    };
    let forwards = ids(&text("[int8wo, int8dq]", "[{ name: pow2 }, { name: llama }]"));
    assert_eq!(forwards, ids(&text("[int8dq, int8wo]", "[{ name: llama }, { name: pow2 }]")));
}

#[test]
fn two_configs_of_one_stem_are_an_error_that_names_both() {
    let read = |file: &str| Config::parse(Path::new(file), "model_params: {}").unwrap();
    let errors = expand(&[read("a/x.yml"), read("b/x.yml")]).unwrap_err().to_string();
    assert!(errors.contains("a/x.yml") && errors.contains("b/x.yml"), "{errors}");
    assert!(expand(&[read("a/x.yml"), read("b/y.yml")]).is_ok());
}

/// 512 shapes × more than 20 variants: more than ten thousand cases.
#[test]
fn a_large_plan_keeps_every_id_unique_and_inside_criterions_limits() {
    let recipes = plan::Recipe::examples().filter(|it| it.takes(plan::Mode::Inference));
    let recipes: Vec<String> = recipes.map(|recipe| recipe.to_string()).collect();
    let plan = plan_of(&format!(
        "quantization_config_recipe_names: [{}]\nmodel_params: {{ matrix_shapes: [{{ name: sweep }}] }}",
        recipes.join(", ")
    ));
    let ids: std::collections::HashSet<String> = plan.cases().map(plan::Case::full_id).collect();
    assert!(ids.len() > 10_000, "{}", ids.len());
    assert_eq!(ids.len(), plan.cases().count());
    for case in plan.cases() {
        assert!(case.full_id().len() <= MAX_ID, "{}", case.id);
        for part in [&case.id.group, &case.id.variant, &case.id.parameter] {
            assert!(part.len() <= MAX_PART, "{part}");
        }
    }
}

#[test]
fn an_id_that_criterion_would_cut_is_an_error() {
    let text = "benchmark_mode: fusion\nfusion_params: { patterns: [conv2d_bn_relu], \
                memory_formats: [channels_last], dtypes: [bf16], \
                sizes: [[16777216, 16777216, 16777216, 16777216]] }";
    let of = |file: &str| expand(&[Config::parse(Path::new(file), text).expect("valid")]);
    let errors = of("a_rather_long_name_of_a_config.yml").unwrap_err().to_string();
    assert!(errors.contains("longer than an id can be, 100 bytes"), "{errors}");
    assert!(errors.contains("a_rather_long_name_of_a_config.yml"), "{errors}");
    assert!(of("short.yml").is_ok());
}

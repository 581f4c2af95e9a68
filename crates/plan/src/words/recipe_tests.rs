use super::*;

#[test]
fn every_spelling_reads_back() {
    for word in SPELLINGS {
        assert_eq!(word.parse::<Recipe>().map(|recipe| recipe.to_string()).as_deref(), Ok(*word));
    }
}

#[test]
fn every_recipe_has_a_spelling() {
    let own = UserWord::new("mine").map(Recipe::User);
    let per_layer = "per_layer-fc=int8wo".parse();
    let missing = Recipe::missing(Recipe::examples().chain(own).chain(per_layer));
    assert!(missing.is_empty(), "SPELLINGS and `parse` lack {missing:?}");
}

#[test]
fn upstreams_defaults_are_filled_in() {
    for (short, full) in [
        ("int4wo", "int4wo-128"),
        ("gemlitewo", "gemlitewo-4-64"),
        ("gemlitewo-8", "gemlitewo-8-64"),
    ] {
        assert_eq!(short.parse::<Recipe>(), full.parse::<Recipe>(), "{short}");
    }
}

#[test]
fn wrong_words_say_what_to_write() {
    for (typed, remedy) in [
        ("int8w0", "did you mean `int8wo`?"),
        ("int8wo-v3", "this family is written int8wo[-v2|-v018]"),
        (
            "int4wo-48",
            "this family is written int4wo-{32|64|128|256}[-hqq|-hqq-fp16solver|-tilepacked]",
        ),
        ("float8dq-col", "this family is written float8dq[-tensor|-row]"),
        ("uintx-4-064", "this family is written uintx-<1..8 bits>-<group>[-hqq]"),
        ("uintx-9-64", "this family is written uintx-<1..8 bits>-<group>[-hqq]"),
        (
            "gemlitewo-3-64",
            "this family is written gemlitewo-{4|8}-<group>, with 4 bits also \
             gemlitewo-4-<group>-fp16solver",
        ),
    ] {
        assert_eq!(typed.parse::<Recipe>().unwrap_err().remedy, remedy, "{typed}");
    }
}

#[test]
fn the_asymmetry_flag_means_what_it_says() {
    let flag = |word: &str| match word.parse() {
        Ok(Recipe::Int8DynamicIntx { asymmetric, .. }) => asymmetric,
        other => panic!("{other:?}"),
    };
    assert!(flag("int8_dynamic_activation_intx_weight-4-32-true"));
    assert!(!flag("int8_dynamic_activation_intx_weight-4-32-false"));
}

#[test]
fn a_word_of_a_package_is_read_from_files_of_a_run_and_not_from_a_config() {
    let read = |text: &str| serde_json::from_str::<Recipe>(text);
    let own = read("\"ternary-64\"").expect("it may be a package's");
    assert_eq!(own, Recipe::User(UserWord::new("ternary-64").expect("a word")));
    assert_eq!(serde_json::to_string(&own).expect("a word"), "\"ternary-64\"");
    assert_eq!(read("\"int8wo\"").ok(), Some(Recipe::INT8WO));
    assert!(read("\"no word\"").is_err());
    assert!("ternary-64".parse::<Recipe>().is_err());
}

/// Every word that torchao's benchmarks have turned into a configuration: it is run, or refused by name.
#[test]
fn every_word_of_torchao_is_known() {
    for (word, ours) in [
        ("None", "baseline"),
        ("baseline", "baseline"),
        ("int8wo", "int8wo"),
        ("int8dq", "int8dq"),
        ("int8dq_prefill_wo_decode", "int8dq_prefill_wo_decode"),
        ("int4wo-32", "int4wo-32"),
        ("int4wo-128-hqq", "int4wo-128-hqq"),
        ("fp6", "fp6"),
        ("uintx-2-64", "uintx-2-64"),
        ("uintx-4-64-hqq", "uintx-4-64-hqq"),
        (
            "int8_dynamic_activation_intx_weight-4-32-false",
            "int8_dynamic_activation_intx_weight-4-32-false",
        ),
        ("float8wo", "float8wo"),
        ("float8dq", "float8dq-tensor"),
        ("float8dq-tensor", "float8dq-tensor"),
        ("float8dq-row", "float8dq-row"),
        ("gemlitewo", "gemlitewo-4-64"),
        ("gemlitewo-8", "gemlitewo-8-64"),
        ("gemlitewo-4-128", "gemlitewo-4-128"),
        ("float8_rowwise", "float8dq-row"),
        ("int8_rowwise", "int8dq"),
        ("int8_rowwise_weight_only", "int8wo"),
        ("int4_groupwise_hqq_weight_only", "int4wo-32-hqq"),
        ("mxfp8", "mxfp8"),
        ("nvfp4", "nvfp4"),
    ] {
        assert_eq!(word.parse::<Recipe>().map(|it| it.to_string()), Ok(ours.to_owned()), "{word}");
    }
    for (word, reason) in [
        ("marlin", "Marlin's kernels are in torchao's CUDA extension"),
        ("marlin-qqq", "Marlin's kernels"),
        ("int8adq-int4w-symm", "CUTLASS"),
        ("float8_a1x128_w128x128", "Triton"),
        ("int4_groupwise_weight_float8_rowwise_activation", "FBGEMM"),
        ("codebook", "no product"),
        ("codebook-64", "no product"),
        ("int4wo-128-gptq", "with text"),
        ("autoround-cuda-0", "with text"),
        ("awq-uintx-uint4-64-hqq", "with text"),
        ("awq_int4_weight_only", "with text"),
        ("smoothquant", "with text"),
        ("smoothquant_int8", "with text"),
        ("spinquant", "rotates"),
    ] {
        let error = word.parse::<Recipe>().expect_err(word);
        assert!(error.remedy.contains(reason), "{word}: {}", error.remedy);
        assert!(error.remedy.starts_with("it is torchao's"), "{word}: {}", error.remedy);
    }
}

//! Every YAML block of torchao's documents is accepted as it stands there.

use std::path::{Path, PathBuf};

use plan::{
    Case, CompileMode, Config, Device, Mode, ModelKind, ModelParams, ModelWork, Pass, Plan, Recipe,
    Shape, Suite, expand,
};

fn models(config: &Config) -> &[ModelParams] {
    let Suite::Models(suite) = &config.suite else { panic!("a config of models") };
    suite
}

fn work(case: &Case) -> &ModelWork {
    case.work.model().expect("a model")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/documents")
}

/// The blocks, by file stem. A block that shows a part of a config is put where its keys belong.
fn blocks() -> Vec<(String, String)> {
    let mut blocks: Vec<(String, String)> = std::fs::read_dir(folder())
        .expect("the folder is in the repository")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|it| it == "yml"))
        .map(|path| {
            let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (stem, whole(&std::fs::read_to_string(path).expect("readable")))
        })
        .collect();
    blocks.sort();
    blocks
}

fn whole(block: &str) -> String {
    if block.contains("model_params:") {
        return block.to_owned();
    }
    let indented: String = block.lines().map(|line| format!("    {line}\n")).collect();
    format!("model_params:\n  - name: \"part\"\n{indented}")
}

fn read(stem: &str) -> Config {
    let (_, text) = blocks().into_iter().find(|(name, _)| name == stem).expect("a known block");
    Config::parse(Path::new(&format!("{stem}.yml")), &text).unwrap_or_else(|e| panic!("{e}"))
}

fn plan_of(stem: &str) -> Plan {
    expand(&[read(stem)]).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn every_block_is_accepted_but_for_its_placeholders() {
    let blocks = blocks();
    assert_eq!(blocks.len(), 21);
    for (stem, text) in blocks {
        let config = Config::parse(Path::new(&format!("{stem}.yml")), &text);
        if !stem.ends_with("placeholder") {
            config.unwrap_or_else(|errors| panic!("{stem}: {errors}"));
            continue;
        }
        // A name that is yet to be added is unknown, and that is the only error.
        let errors = config.expect_err("a placeholder is no known word").0;
        assert_eq!(errors.len(), 1, "{stem}: {errors:?}");
        assert!(errors[0].message.contains("`my_"), "{stem}: {}", errors[0]);
        let added =
            text.replace("my_new_quantization", "int4wo-32").replace("my_custom_model", "linear");
        Config::parse(Path::new("added.yml"), &added).unwrap_or_else(|e| panic!("{stem}: {e}"));
    }
}

#[test]
fn the_readmes_sample_means_what_it_says() {
    let config = read("readme-sample");
    let model = &models(&config)[0];
    assert_eq!(models(&config).len(), 1, "a mapping is one model");
    assert_eq!(model.compile, [CompileMode::MaxAutotune]);
    assert_eq!(model.devices, [Device::Cuda]);
    assert!(model.profiling.profiler && model.profiling.memory);
    let plan = plan_of("readme-sample");
    assert_eq!(plan.groups.len(), 3);
    let ids: Vec<String> = plan.groups[0].cases.iter().map(plan::Case::full_id).collect();
    let id = |variant: &str| {
        format!("inference/readme-sample/linear/cuda/{variant}/bf16-1024x1024x1024")
    };
    let expected = [
        "baseline",
        "baseline+max-autotune",
        "int8wo",
        "int8wo+max-autotune",
        "float8wo",
        "float8wo+max-autotune",
        "float8dq-tensor",
        "float8dq-tensor+max-autotune",
    ];
    assert_eq!(ids, expected.map(id));
}

#[test]
fn models_without_recipes_are_their_baseline() {
    let plan = plan_of("tutorial-several-models");
    assert!(plan.cases().all(|case| work(case).variant.recipe == Recipe::Baseline));
    let models: Vec<(ModelKind, Device)> =
        plan.groups.iter().map(|g| (work(&g.cases[0]).model, g.cases[0].device)).collect();
    // 3 pow2 shapes, 3 of llama's 4 (two differ in n alone, which the block ignores), 1 custom.
    assert_eq!(models.len(), 7);
    assert_eq!(models[3], (ModelKind::TransformerBlock, Device::Cuda));
    assert_eq!(models[6], (ModelKind::Linear, Device::Cpu));
    assert_eq!(plan.groups[3].cases[0].shape_names, ["llama_attn.wqkv", "llama_ffn.w13"]);
}

#[test]
fn the_training_block_is_measured_part_by_part() {
    let config = read("readme-training");
    assert_eq!(config.mode, Mode::Training);
    let [entry] = models(&config) else { panic!("one model") };
    let training = entry.settings.training.as_ref().expect("training settings");
    assert!(training.use_fast_accum);
    assert_eq!(training.repeat_n, 100);
    let variants: Vec<String> = entry.ways.iter().flatten().map(ToString::to_string).collect();
    let expected = [
        "baseline",
        "baseline+compile",
        "float8dq-tensor",
        "float8dq-tensor+compile",
        "float8dq-row",
        "float8dq-row+compile",
    ];
    assert_eq!(variants, expected, "nothing is emulated on a GPU");
    let plan = plan_of("readme-training");
    assert_eq!(plan.groups.len(), 6 * 3, "each of six parts at each of three shapes");
    let ids: Vec<_> = plan.groups.iter().map(|group| group.baseline().full_id()).collect();
    let group = "training/readme-training/linear-forward/cuda";
    assert_eq!(ids[0], format!("{group}/baseline/bf16-1024x1024x1024"));
    assert_eq!(work(plan.groups[17].baseline()).pass, Some(Pass::Casts));
    // The longest name of a part leaves less of the config's.
    assert_eq!(ids[6].split('/').nth(2), Some("linear-forward_backward"));
}

#[test]
fn the_parts_expand_to_upstreams_counts() {
    for (stem, shapes) in [
        ("tutorial-shapes-custom", 2),
        ("tutorial-shapes-llama", 4),
        ("tutorial-shapes-pow2", 3),
        ("tutorial-shapes-pow2-extended", 4),
        ("tutorial-shapes-small-sweep", 56),
        ("tutorial-shapes-sweep", 8),
        ("readme-shapes-sweep", 8),
    ] {
        assert_eq!(models(&read(stem))[0].sizes.len(), shapes, "{stem}");
    }
    let device = &models(&read("tutorial-device"))[0].clone();
    assert_eq!(
        (device.devices[0], &device.sizes[0].1),
        (Device::Cuda, &Shape::new(1024, 1024, 1024))
    );
    assert_eq!(models(&read("tutorial-compilation"))[0].compile, [CompileMode::MaxAutotune]);
}

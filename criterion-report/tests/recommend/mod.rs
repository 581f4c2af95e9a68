//! `recommend`: a small model's layers, measured with times that are easy to reckon with.

mod block;
mod libraries;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[cfg(feature = "schema")]
use criterion_report::cli::schema::Schema;
use insta::assert_snapshot;
use plan::recommendation::{
    Attention, LinearLayers, ModelLayers, Module, Objective, Phase, RecommendationRequest, Rows,
    SCHEMA, Sensitivity, VERSION, file,
};
use plan::{
    Accuracy, Case, Config, Device, Dtype, Energy, JsonFloat, Outcome, Recipe, Role, Shape,
    TensorAccuracy, Variant, Weights,
};
use serde_json::Value;
use tempfile::TempDir;

#[cfg(feature = "schema")]
use crate::common::assert_as_schema;
use crate::common::made::{Fixture, Measured};
use crate::common::{err, pair_of, run, skip, stdout};
use crate::html::{assert_quiet, browser::Browser};

fn request(objective: Objective) -> RecommendationRequest {
    let layers = |fqn: &str, [n, k, count]: [u64; 3], group: &str| LinearLayers {
        fqn: fqn.to_owned(),
        n,
        k,
        count,
        group: group.to_owned(),
        rows: if fqn == "lm_head" { Rows::LastToken } else { Rows::Tokens },
        module: if fqn == "lm_head" { Module::Tied } else { Module::Linear },
    };
    let phase =
        |name: &str, tokens, passes| Phase { name: name.to_owned(), tokens, batch: 1, passes };
    RecommendationRequest {
        schema: SCHEMA.to_owned(),
        version: VERSION,
        model: ModelLayers {
            name: "tiny".to_owned(),
            family: "qwen2".to_owned(),
            layers: vec![
                layers("model.layers.*.self_attn.q_proj", [64, 64, 2], "self_attn.qkv"),
                layers("model.layers.*.self_attn.k_proj", [32, 64, 2], "self_attn.qkv"),
                layers("model.layers.*.mlp.up_proj", [128, 64, 2], "mlp.up"),
                layers("lm_head", [256, 64, 1], "lm_head"),
            ],
            other_parameters: 0,
            attention: None,
        },
        phases: vec![phase("prefill", 32, 1), phase("decode", 1, 16)],
        objective,
        device: Device::Cpu,
        dtype: Dtype::BFloat16,
        stem: "tiny".to_owned(),
        sensitivity: None,
        weights: None,
        asked: 0,
    }
}

const CONFIG: &str = "benchmark_mode: inference
quantization_config_recipe_names: [int8wo, int8dq]
model_params:
  - model_type: linear
    device: cpu
    packed: true
    unquantized_dtypes: [float32]
    matrix_shapes:
      - { name: custom, shapes: [[32, 64, 64], [1, 64, 64], [32, 64, 32], [1, 64, 32]] }
      - { name: custom, shapes: [[32, 64, 128], [1, 64, 128], [1, 64, 256]] }
";

/// Whole times of 3 µs for a token and 9 µs for 32, whatever the layer; int8dq gains in prefill, int8wo+packed in decode.
fn measured(case: &Case) -> Measured {
    let work = case.work.model().expect("a model");
    let Shape { m, k, n } = work.shape;
    let Variant { recipe, packed, dtype, .. } = work.variant;
    let (prefill, decode, bits, db) = match (recipe, packed, dtype) {
        (Recipe::Baseline, _, None) => (1.0, 1.0, 16, 52.0),
        (Recipe::Baseline, ..) => (0.5, 1.004, 32, 130.0),
        (Recipe::Int8wo { .. }, false, _) => (0.5, 0.8, 8, 38.0),
        (Recipe::Int8wo { .. }, true, _) => (0.4, 2.0, 8, 38.0),
        _ => (3.0, 1.5, 8, 35.0),
    };
    let speedup = if m == 1 { decode } else { prefill };
    let baseline_ns = if m == 1 { 3000.0 } else { 9000.0 };
    let mut measured = Measured::new(case.clone(), (baseline_ns / speedup) as u64);
    let record = &mut measured.record;
    if case.role == Role::Candidate {
        let baseline = plan::case_id(&case.id.group, "baseline", &case.id.parameter);
        record.pairs.push(pair_of(baseline.to_string(), speedup));
    }
    let (packed_bytes, baseline_bytes) = (n * k * bits / 8, 2 * n * k);
    let quantized = u64::from(recipe != Recipe::Baseline);
    let bits_per_weight = bits as f64;
    record.weights = Some(Weights {
        linears: 1,
        quantized,
        packed_bytes,
        baseline_bytes,
        bits_per_weight,
        density: None,
    });
    record.accuracy = Some(Accuracy {
        sqnr_db: JsonFloat(db),
        max_abs_error: JsonFloat(0.01),
        relative_error: JsonFloat(0.01),
        rmse: None,
        min_sqnr_db: 20.0,
        rows_checked: m,
        gates: Vec::new(),
        tensors: Vec::new(),
        eager: None,
    });
    measured
}

fn fixture() -> Fixture {
    let config = Config::parse(Path::new("tiny.yml"), CONFIG).expect("a valid config");
    let plan = plan::expand(&[config]).expect("it expands");
    Fixture::of_cases(plan.cases().map(measured).collect())
}

/// The records with the question beside them.
fn asked(fixture: &Fixture, objective: Objective) -> (TempDir, PathBuf) {
    put(fixture, &request(objective))
}

fn put(fixture: &Fixture, request: &RecommendationRequest) -> (TempDir, PathBuf) {
    let (folder, criterion) = fixture.write();
    let records = folder.path().join("criterion-torch");
    let text = serde_json::to_string(request).expect("serialises");
    fs::write(file(&records), text).expect("written");
    (folder, criterion)
}

fn recommend(criterion: &Path, args: &[&str]) -> Output {
    let criterion = criterion.to_str().expect("UTF-8");
    run(&[&["recommend", "--criterion-dir", criterion], args].concat())
}

fn document(fixture: &Fixture, objective: Objective, args: &[&str]) -> Value {
    answer(fixture, &request(objective), args)
}

fn answer(fixture: &Fixture, request: &RecommendationRequest, args: &[&str]) -> Value {
    let (_folder, criterion) = put(fixture, request);
    let output = recommend(&criterion, &[&["--format", "json"], args].concat());
    assert!(output.status.success(), "{}", err(&output));
    serde_json::from_str(stdout(&output)).expect("JSON")
}

fn recipes(document: &Value) -> Vec<&str> {
    let groups = document["groups"].as_array().expect("groups");
    groups.iter().map(|group| group["recipe"].as_str().expect("a recipe")).collect()
}

fn total<'a>(document: &'a Value, name: &str) -> &'a Value {
    let totals = document["totals"].as_array().expect("totals");
    totals.iter().find(|it| it["name"] == name).expect("a total of the name")
}

#[test]
fn every_group_has_its_recipe() {
    let document = document(&fixture(), Objective::Fastest, &[]);
    // 9 µs and 16 × 3 µs per layer: int8dq takes 35 of them, int8wo+packed 46.5; of the head there is only decode.
    assert_eq!(recipes(&document), ["int8dq", "int8dq", "int8wo+packed"]);
    let [baseline, int8dq, chosen] = ["baseline", "int8dq", "recommended"]
        .map(|name| total(&document, name)["ns"].as_f64().expect("a time"));
    // Six layers, and the head, which runs once in prefill, too.
    assert!((baseline - (6.0 * 57e3 + 17.0 * 3e3)).abs() < 1.0, "{baseline}");
    assert!((int8dq - (6.0 * 35e3 + 17.0 * 2e3)).abs() < 1.0, "{int8dq}");
    assert!((chosen - (6.0 * 35e3 + 17.0 * 1.5e3)).abs() < 1.0, "{chosen}");
    let group = &document["groups"][0];
    assert_eq!(group["decided"], true, "{group}");
    assert_eq!(group["torchao"], "Int8DynamicActivationInt8WeightConfig(version=1)");
    assert!((group["speedup_factor"].as_f64().expect("a ratio") - 57.0 / 35.0).abs() < 1e-9);
    let head = &document["groups"][2];
    assert_eq!((&head["torchao"], &head["ours"]), (&Value::Null, &Value::Bool(true)), "packed");
    let phases = &total(&document, "baseline")["phases"];
    assert!((phases[1]["ns_per_token"].as_f64().expect("a time") - 21e3).abs() < 1.0, "{phases}");
}

#[test]
fn the_tables() {
    let (_folder, criterion) = asked(&fixture(), Objective::Smallest { within: 0.5 });
    let table = recommend(&criterion, &[]);
    let markdown = recommend(&criterion, &["--format", "markdown", "--min-sqnr", "36"]);
    assert_snapshot!("recommend", stdout(&table));
    assert_snapshot!("recommend-markdown", stdout(&markdown));
}

#[test]
fn one_shape_changes_the_decision() {
    let slow = fixture().edit("/int8dq/bf16-32x64x32", |it| {
        it.record.pairs[0] = pair_of(it.record.pairs[0].against.clone(), 0.1);
    });
    assert_eq!(
        recipes(&document(&slow, Objective::Fastest, &[])),
        ["int8wo+packed", "int8dq", "int8wo+packed"]
    );
    let failed = Outcome::Failed { error: "12.0 dB, below the gate of 20 dB".to_owned() };
    let inaccurate = fixture().end("/int8dq/bf16-1x64x128", &failed);
    let document = document(&inaccurate, Objective::Fastest, &[]);
    assert_eq!(recipes(&document), ["int8dq", "int8wo+packed", "int8wo+packed"]);
    let refused = &document["groups"][1]["refused"];
    assert_eq!(refused["int8dq"], "1x64x128: failed: 12.0 dB, below the gate of 20 dB");
    // It is none of all layers' recipes then.
    assert!(!document["totals"].to_string().contains("\"int8dq\""), "{}", document["totals"]);
}

#[test]
fn accuracy_and_memory_are_limits() {
    let accurate = document(&fixture(), Objective::Fastest, &["--min-sqnr", "36"]);
    assert_eq!(recipes(&accurate), ["int8wo+packed"; 3]);
    let exact = document(&fixture(), Objective::Fastest, &["--min-sqnr", "60"]);
    assert_eq!(recipes(&exact), ["baseline"; 3]);
    assert_eq!(exact["groups"][2]["rivals"], serde_json::json!(["baseline+float32"]));
    // int8 takes 12288 + 16384 + 16384 bytes.
    let fits = document(&fixture(), Objective::Memory { bytes: 45_056 }, &[]);
    assert_eq!(total(&fits, "recommended")["weight_bytes"], 45_056);
    let (_folder, criterion) = asked(&fixture(), Objective::Memory { bytes: 45_055 });
    let output = recommend(&criterion, &[]);
    assert!(
        !output.status.success() && err(&output).contains("at least 44.0 KiB"),
        "{}",
        err(&output)
    );
}

#[test]
fn accuracy_from_elsewhere_counts() {
    let numbers = |db: f64| {
        let of_recipe = BTreeMap::from([("int8dq".to_owned(), db)]);
        BTreeMap::from([("model.layers.1.self_attn.k_proj".to_owned(), of_recipe)])
    };
    let answer = |sensitivity, args: &[&str]| {
        let sensitivity = Some(sensitivity);
        answer(
            &fixture(),
            &RecommendationRequest { sensitivity, ..request(Objective::Fastest) },
            args,
        )
    };
    let refused = |document: &Value| document["groups"][0]["refused"]["int8dq"].clone();
    // The gate of the recipe is 20 dB; 35 were measured.
    let low = answer(Sensitivity { sqnr_db: numbers(19.0), ..Sensitivity::default() }, &[]);
    assert_eq!(recipes(&low), ["int8wo+packed", "int8dq", "int8wo+packed"]);
    assert_eq!(refused(&low), "32x64x32: 19.0 dB, below the gate of 20");
    assert!(low["notes"].to_string().contains("--sensitivity counts before"), "{}", low["notes"]);
    let high = Sensitivity { sqnr_db: numbers(36.5), ..Sensitivity::default() };
    let high = answer(high, &["--min-sqnr", "36"]);
    // q, of the same group, has the 35 dB that were measured.
    assert_eq!(recipes(&high), ["int8wo+packed"; 3]);
    assert_eq!(refused(&high), "32x64x64: 35.0 dB, below --min-sqnr 36");
    let loss = |max_loss| Sensitivity { loss: numbers(0.5), max_loss, ..Sensitivity::default() };
    let small = answer(loss(Some(0.5)), &[]);
    assert_eq!(recipes(&small), ["int8dq", "int8dq", "int8wo+packed"]);
    let large = answer(loss(Some(0.4)), &[]);
    let why = "32x64x32: a loss of 0.5 in model.layers.*.self_attn.k_proj, above max_loss 0.4";
    assert_eq!((recipes(&large)[0], refused(&large)), ("int8wo+packed", why.into()));
}

#[test]
fn real_weights_are_held_against_the_gate_here() {
    let weights = Some(PathBuf::from("models/tiny"));
    let request = RecommendationRequest { weights, ..request(Objective::Fastest) };
    let random = answer(&fixture(), &request, &[]);
    assert_eq!(recipes(&random), ["baseline"; 3]);
    let why = &random["groups"][0]["refused"]["int8dq"];
    assert_eq!(why, "32x64x64: its accuracy is of random weights: measure it again");
    let checked = fixture().edit("/int8", |it| {
        let accuracy = it.record.accuracy.as_mut().expect("it was compared");
        accuracy.min_sqnr_db = 36.0;
        accuracy.tensors.push(TensorAccuracy {
            name: "model.layers.0.mlp.up_proj.weight".to_owned(),
            sqnr_db: accuracy.sqnr_db,
            max_abs_error: accuracy.max_abs_error,
            relative_error: accuracy.relative_error,
            min_sqnr_db: 36.0,
        });
    });
    let document = answer(&checked, &request, &[]);
    assert_eq!(recipes(&document), ["int8wo+packed"; 3]);
    let why = &document["groups"][0]["refused"]["int8dq"];
    assert_eq!(why, "32x64x64: 35.0 dB, below the gate of 36");
    let notes = document["notes"].to_string();
    assert!(
        notes.contains("with weights of models/tiny (first, middle and last layer)"),
        "{notes}"
    );
    let lenient = answer(&checked, &request, &["--min-sqnr", "30"]);
    assert_eq!(recipes(&lenient), ["int8dq", "int8dq", "int8wo+packed"]);
}

#[test]
fn no_choice_lies_beyond_the_front() {
    let document = document(&fixture(), Objective::Fastest, &[]);
    let number = |of: &Value, key: &str| of[key].as_f64().expect("a number");
    let front: Vec<(f64, f64)> = document["front"]
        .as_array()
        .expect("points")
        .iter()
        .map(|it| (number(it, "speedup_factor"), number(it, "weight_bytes")))
        .collect();
    // int8 everywhere is the smallest; no bytes more would buy time.
    assert_eq!(front.len(), 1, "{front:?}");
    for total in document["totals"].as_array().expect("totals") {
        let (speedup, bytes) = (number(total, "speedup_factor"), number(total, "weight_bytes"));
        assert!(front.iter().any(|it| it.0 >= speedup - 1e-9 && it.1 <= bytes), "{total}");
    }
    // Each group has the same five candidates.
    let recommended = number(total(&document, "recommended"), "ns");
    let random = number(&document, "random_ns");
    let of = |name| number(total(&document, name), "ns");
    let all = ["baseline", "baseline+float32", "int8wo", "int8wo+packed", "int8dq"].map(of);
    assert!((random - all.iter().sum::<f64>() / 5.0).abs() < 1.0, "{random}");
    assert!(recommended < all.into_iter().fold(random, f64::min));
}

#[test]
fn energy_is_that_of_all_passes() {
    let with_energy = |it: &mut Measured| {
        it.record.measures.energy = Some(Energy {
            joules: 0.5,
            watts: 10.0,
            idle_watts: None,
            idle_subtracted: false,
            window_s: 1.0,
            iters: 100,
            method: "RAPL: package-0".to_owned(),
        });
    };
    let (folder, criterion) = asked(&fixture().edit("", with_energy), Objective::Fastest);
    let output = recommend(&criterion, &["--output", folder.path().to_str().expect("UTF-8")]);
    let text = fs::read_to_string(folder.path().join("recommendation.json")).expect("readable");
    let document = serde_json::from_str(&text).expect("JSON");
    // Six layers and the head run once and 16 times.
    assert_eq!(total(&document, "recommended")["joules"], 0.5 * 7.0 * 17.0);
    assert!(stdout(&output).contains("59.50 J"), "{}", stdout(&output));
    let lacking = fixture().edit("", with_energy).edit("/int8wo/bf16-1x64x256", |it| {
        it.record.measures.energy = None;
    });
    let document = self::document(&lacking, Objective::Fastest, &[]);
    assert_eq!(total(&document, "int8wo")["joules"], Value::Null);
}

#[test]
fn questions_without_an_answer_are_errors() {
    let (_folder, criterion) = fixture().write();
    let refused = |criterion: &Path, args: &[&str], words: &[&str]| {
        let output = recommend(criterion, args);
        assert_eq!(output.status.code(), Some(2));
        for word in words {
            assert!(err(&output).contains(word), "{word}:\n{}", err(&output));
        }
    };
    let command = "cargo torch-bench recommend CONFIG.json";
    refused(&criterion, &[], &["recommendation-request.json: nothing was asked", command]);
    let lacking = fixture().without("/bf16-1x64x32$");
    let (folder, criterion) = asked(&lacking, Objective::Fastest);
    let missing = "1x64x32 (model.layers.*.self_attn.k_proj in decode): its baseline has no record";
    refused(&criterion, &[], &["`linear` in bfloat16 on cpu", missing, command]);
    refused(&criterion, &["--filter", "int8"], &["omit --filter"]);
    refused(&criterion, &["--output", "-"], &["name it with --output DIR"]);
    let path = file(&folder.path().join("criterion-torch"));
    let text = fs::read_to_string(&path).expect("readable");
    fs::write(&path, text.replace("\"version\":1", "\"version\":2")).expect("written");
    refused(&criterion, &[], &["version 2: this program reads", "version 1", command]);
    let (_folder, criterion) = asked(&fixture(), Objective::Fastest);
    refused(&criterion, &["--as", "graph"], &["no unquantized case that runs in a CUDA graph"]);
}

/// The folder of `--output`.
fn written() -> TempDir {
    let (_folder, criterion) = asked(&fixture(), Objective::Fastest);
    let out = tempfile::tempdir().expect("a folder");
    let output = recommend(&criterion, &["--output", out.path().to_str().expect("UTF-8")]);
    assert!(output.status.success(), "{}", err(&output));
    out
}

#[test]
fn the_files() {
    let folder = written();
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("readable");
    assert_snapshot!("recommend-python", read("recommendation.py"));
    assert_snapshot!("recommend-llmcompressor", read("recommendation_llmcompressor.yml"));
    assert_snapshot!("recommend-modelopt", read("recommendation_modelopt.py"));
    let config = read("recommendation.yml");
    assert_snapshot!("recommend-config", config);
    let config = Config::parse(Path::new("again.yml"), &config).expect("a valid config");
    let plan = plan::expand(&[config]).expect("it expands");
    // The baseline, int8dq, int8wo and its packed form at seven shapes.
    assert_eq!(plan.cases().count(), 28);
    let document: Value = serde_json::from_str(&read("recommendation.json")).expect("JSON");
    assert_eq!(document["schema"], "criterion-torch/recommendation");
    #[cfg(feature = "schema")]
    {
        let schema = Schema::Recommendation.text();
        let schema = serde_json::from_str(schema).expect("JSON");
        let schema = jsonschema::draft202012::new(&schema).expect("a schema");
        let errors: Vec<_> = schema.iter_errors(&document).map(|it| it.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
}

#[test]
fn the_page_shows_hostile_names_as_text() {
    const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{202e}";
    let (folder, criterion) = asked(&fixture(), Objective::Fastest);
    let path = file(&folder.path().join("criterion-torch"));
    let text = fs::read_to_string(&path).expect("readable");
    let mut request: RecommendationRequest = serde_json::from_str(&text).expect("a request");
    request.model.name = HOSTILE.to_owned();
    request.model.layers[2].group = HOSTILE.to_owned();
    request.model.layers[3].fqn = HOSTILE.to_owned();
    fs::write(&path, serde_json::to_string(&request).expect("serialises")).expect("written");
    let output = recommend(&criterion, &["--output", folder.path().to_str().expect("UTF-8")]);
    assert!(output.status.success(), "{}", err(&output));
    let page = folder.path().join("recommendation.html");
    let text = fs::read_to_string(&page).expect("readable");
    assert!(!text.contains("<img") && !text.contains('\u{202e}'));
    let Some(browser) = Browser::start() else { return };
    browser.open(&page);
    let get = |of: &str| browser.get(&format!("return {of}"));
    assert_eq!(get("document.querySelectorAll('img').length"), 0);
    assert_eq!(get("document.querySelectorAll('#memory-chart .point').length"), 6);
    assert_eq!(get("document.querySelectorAll('#accuracy-chart .point.on').length"), 1);
    assert_eq!(get("document.querySelectorAll('#groups-chart .line').length"), 3);
    assert_eq!(get("document.querySelectorAll('#layers tbody tr').length"), 4);
    assert_quiet(&browser);
}

//! `recommend`: a small model's layers, measured with times that are easy to reckon with.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[cfg(feature = "schema")]
use criterion_report::cli::schema::Schema;
use insta::assert_snapshot;
use plan::recommendation::{
    Attention, LinearLayers, ModelLayers, Module, Objective, Phase, RecommendationRequest, Rows,
    SCHEMA, VERSION, file,
};
use plan::{
    Accuracy, Case, Config, Device, Dtype, JsonFloat, Outcome, Recipe, Role, Shape, Variant,
    Weights,
};
use serde_json::Value;
use tempfile::TempDir;

#[cfg(feature = "schema")]
use crate::common::assert_as_schema;
use crate::common::made::{Fixture, Measured};
use crate::common::{err, pair_of, run, skip, stdout};

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
    let (folder, criterion) = fixture.write();
    let records = folder.path().join("criterion-torch");
    let text = serde_json::to_string(&request(objective)).expect("serialises");
    fs::write(file(&records), text).expect("written");
    (folder, criterion)
}

fn recommend(criterion: &Path, args: &[&str]) -> Output {
    let criterion = criterion.to_str().expect("UTF-8");
    run(&[&["recommend", "--criterion-dir", criterion], args].concat())
}

fn document(fixture: &Fixture, objective: Objective, args: &[&str]) -> Value {
    let (_folder, criterion) = asked(fixture, objective);
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

/// A model of two of Llama's blocks.
fn llama() -> RecommendationRequest {
    let attention = Some(Attention { heads: 4, key_value_heads: 2, head_width: 16 });
    let layers = |(name, n, k): (&str, u64, u64)| LinearLayers {
        fqn: format!("model.layers.*.{name}"),
        n,
        k,
        count: 2,
        group: name.to_owned(),
        rows: Rows::Tokens,
        module: Module::Linear,
    };
    let layers = [
        ("self_attn.q_proj", 64, 64),
        ("self_attn.k_proj", 32, 64),
        ("self_attn.v_proj", 32, 64),
        ("self_attn.o_proj", 64, 64),
        ("mlp.gate_proj", 128, 64),
        ("mlp.up_proj", 128, 64),
        ("mlp.down_proj", 64, 128),
    ]
    .map(layers);
    let request = request(Objective::Fastest);
    let model = ModelLayers { layers: layers.to_vec(), attention, ..request.model };
    RecommendationRequest { model, ..request }
}

/// The products of a block, and the block with the recipes that they recommend: it takes 27 µs more than its seven products
/// in prefill, and 3 µs more in decode.
fn whole(recipe: &str) -> Fixture {
    let down = "      - { name: custom, shapes: [[32, 128, 64], [1, 128, 64]] }\n";
    let products = format!("{CONFIG}{down}");
    let block = |word: &str| {
        format!(
            "  - {{ model_type: {word}, matrix_shapes: [{{ name: custom, shapes: [[1, 64, 128]] }}] }}\n"
        )
    };
    let words = ["decoder-4-2-16-32-0", "decoder-4-2-16-1-32"];
    let blocks: String = words.map(block).concat();
    let blocks = format!("quantization_config_recipe_names: ['{recipe}']\nmodel_params:\n{blocks}");
    let configs = [("tiny.yml", products), ("tiny-block.yml", blocks)]
        .map(|(file, text)| Config::parse(Path::new(file), &text).expect("a valid config"));
    let plan = plan::expand(&configs).expect("it expands");
    let fixture = Fixture::of_cases(plan.cases().map(measured).collect());
    let [prefill, decode] = words.map(|word| format!("/{word}/cpu/baseline"));
    let gain = |fixture: Fixture, word: &str, ns: f64, speedup: f64| {
        let filter = format!("/{word}/cpu/per_layer");
        let fixture = fixture.takes(&filter, (ns / speedup) as u64);
        fixture.edit(&filter, |it| {
            it.record.pairs = vec![pair_of(it.record.pairs[0].against.clone(), speedup)];
        })
    };
    let fixture = fixture.takes(&prefill, 90_000).takes(&decode, 24_000);
    gain(gain(fixture, words[0], 90e3, 1.87), words[1], 24e3, 1.2)
}

const CHOSEN: &str = "per_layer-q_proj=int8dq,k_proj=int8dq,v_proj=int8dq,o_proj=int8dq,gate_proj=int8dq,\
                      up_proj=int8dq,down_proj=int8dq";

fn asked_of_llama(
    fixture: &Fixture,
    change: impl Fn(&mut RecommendationRequest),
) -> (TempDir, PathBuf) {
    let (folder, criterion) = fixture.write();
    let mut request = llama();
    change(&mut request);
    let text = serde_json::to_string(&request).expect("serialises");
    fs::write(file(&folder.path().join("criterion-torch")), text).expect("written");
    (folder, criterion)
}

fn blocks(fixture: &Fixture, change: impl Fn(&mut RecommendationRequest), args: &[&str]) -> Value {
    let (_folder, criterion) = asked_of_llama(fixture, change);
    let output = recommend(&criterion, &[&["--format", "json"], args].concat());
    assert!(output.status.success(), "{}", err(&output));
    let document: Value = serde_json::from_str(stdout(&output)).expect("JSON");
    #[cfg(feature = "schema")]
    assert_as_schema("recommendation-v1", &document);
    let recipe = CHOSEN.parse::<Recipe>().expect("a recipe").to_string();
    let is_block = document["blocks"][0]["not_measured"].is_null();
    assert!(!is_block || document["block_recipe"] == recipe, "{document}");
    document["blocks"].clone()
}

#[test]
fn a_block_shows_what_the_layers_gain_together() {
    let fixture = whole(CHOSEN);
    let blocks = blocks(&fixture, |_| {}, &[]);
    let number = |place: usize, path: &str| blocks[place].pointer(path).and_then(Value::as_f64);
    let near = |found: Option<f64>, expected: f64| {
        assert!((found.expect("a number") / expected - 1.0).abs() < 1e-6, "{found:?} {expected}");
    };
    // 63 of 90 µs are products, which int8dq makes three times faster; 21 of 24 µs, half as fast again.
    near(number(0, "/predicted/speedup_factor"), 90.0 / (27.0 + 21.0));
    near(number(1, "/predicted/speedup_factor"), 24.0 / (3.0 + 14.0));
    near(number(0, "/measured/speedup_factor"), 1.87);
    near(number(0, "/other_share"), 0.3);
    near(number(1, "/excess_ns"), 3000.0);
    assert_eq!(
        (&blocks[0]["differs"], &blocks[1]["differs"]),
        (&Value::Bool(false), &Value::Bool(true))
    );
    let (_folder, criterion) = asked_of_llama(&fixture, |_| {});
    assert_snapshot!("recommend-block", stdout(&recommend(&criterion, &[])));
}

#[test]
fn a_block_without_a_measurement_says_why() {
    let why = |fixture: &Fixture, change: fn(&mut RecommendationRequest), args: &[&str]| {
        let blocks = blocks(fixture, change, args);
        blocks[0]["not_measured"].as_str().expect("a reason").to_owned()
    };
    let other = "it was not measured with the recommended recipes";
    assert_eq!(why(&whole("per_layer-q_proj=int8dq"), |_| {}, &[]), other);
    let fixture = whole(CHOSEN);
    assert_eq!(why(&fixture, |_| {}, &["--min-sqnr", "60"]), "its layers stay as they are");
    let gpt2 = why(&fixture, |it| it.model.layers.truncate(4), &[]);
    assert_eq!(gpt2, "the blocks of `qwen2` are not of Llama's layers");
    let unknown = why(&fixture, |it| it.model.attention = None, &[]);
    assert_eq!(unknown, "the heads of its attention are not known");
    let none = why(&fixture.clone().without("/decoder-"), |_| {}, &[]);
    assert_eq!(none, "its baseline has no record");
    let failed = Outcome::Failed { error: "3 dB".to_owned() };
    assert!(
        why(&fixture.end("/decoder-4-2-16-32-0/cpu/per_layer", &failed), |_| {}, &[])
            .contains("3 dB")
    );
}

/// Products of an earlier question are none of this one.
#[test]
fn only_what_was_measured_since_the_question_counts() {
    let (_folder, criterion) = asked_of_llama(&whole(CHOSEN), |it| it.asked = u64::MAX);
    let output = recommend(&criterion, &[]);
    assert!(err(&output).contains("its baseline has no record"), "{}", err(&output));
}

/// torchao itself makes of the file what it says.
#[test]
fn torchao_quantizes_by_the_python() {
    const LAYERS: &str = r#"
import torch
from recommendation import quantize

def linear(n):
    return torch.nn.Linear(64, n, bias=False, dtype=torch.bfloat16)

def block():
    attention = torch.nn.ModuleDict({"q_proj": linear(64), "k_proj": linear(32)})
    mlp = torch.nn.ModuleDict({"up_proj": linear(128)})
    return torch.nn.ModuleDict({"self_attn": attention, "mlp": mlp})

body = torch.nn.ModuleDict({"layers": torch.nn.ModuleList([block(), block()])})
model = quantize(torch.nn.ModuleDict({"model": body, "lm_head": linear(256)}))
for name, layer in model.named_modules():
    if isinstance(layer, torch.nn.Linear):
        layer(torch.ones(32, 64, dtype=torch.bfloat16))
        print(name, type(layer.weight).__name__)
"#;
    let python = env::var_os("CRITERION_TORCH_PYTHON").filter(|it| !it.is_empty());
    let Some(python) = python else {
        return skip::tool("CRITERION_TORCH_PYTHON names no Python with torchao");
    };
    let folder = written();
    let output = Command::new(python)
        .args(["-W", "ignore", "-c", LAYERS])
        .current_dir(folder.path())
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{}", err(&output));
    let quantized = "LinearActivationQuantizedTensor";
    let mut expected: Vec<String> = ["self_attn.q_proj", "self_attn.k_proj", "mlp.up_proj"]
        .iter()
        .flat_map(|name| [0, 1].map(|block| format!("model.layers.{block}.{name} {quantized}")))
        .collect();
    expected.push("lm_head Parameter".to_owned());
    let mut found: Vec<&str> = stdout(&output).lines().collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

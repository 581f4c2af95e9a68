//! The rows of profiles, results and continuous integration.

use std::fs;

use serde_json::{Value, json};

use super::run::{block, inference, planned, refused, run_on, shapes, values};
use crate::page::Row;

const STEM: &str = "test_linear_16_64_32_quant_int8wo_sparsity_None";

/// The only file of int8wo in the folder of our cell.
fn file_of_int8wo(row: &Row) -> String {
    let files = inference().inside(row.code()[0]);
    let mut own = files.into_iter().filter(|it| it.contains(STEM));
    let (Some(file), None) = (own.next(), own.next()) else {
        panic!("one file: {:?}", inference().files)
    };
    file.to_owned()
}

pub fn enable_profiler(_: &Row) {
    let record = |id: &str| inference().record("inference", id);
    let profile = &record("linear/cpu/int8wo/bf16-16x64x32")["profile"];
    assert!(profile["steps"].as_u64() > Some(0), "{profile}");
    let unasked = record("my_custom_model/cpu/int8wo/bf16-16x64x32");
    assert!(unasked["profile"].is_null(), "{unasked}");
}

pub fn traces(row: &Row) {
    let file = file_of_int8wo(row);
    assert!(file.ends_with(&format!("/profiler/{STEM}_profile.json")), "{file}");
    let text = fs::read_to_string(inference().path(&file)).expect("readable");
    let trace: Value = serde_json::from_str(&text).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("a list");
    let keys = ["name", "ph", "ts", "pid"];
    assert!(events.iter().any(|event| keys.iter().all(|key| !event[key].is_null())), "{file}");
}

pub fn enable_memory_profiler(_: &Row) {
    let record = inference().record("inference", "linear/cpu/int8wo/bf16-16x64x32");
    assert!(record["profile"]["memory"]["peak_bytes"].as_u64() > Some(0), "{record}");
}

pub fn snapshots(row: &Row) {
    let file = file_of_int8wo(row);
    assert!(file.ends_with(&format!("{STEM}_memory_profile.pickle")), "{file}");
    let bytes = fs::read(inference().path(&file)).expect("readable");
    // Pickle's protocol opcode, and its end.
    assert!(bytes.first() == Some(&0x80) && bytes.last() == Some(&b'.'), "{file}");
    assert_eq!(inference().cell("test_linear", "int8wo", "memory_profile_path"), file);
}

pub fn visualizations(row: &Row) {
    let file = file_of_int8wo(row);
    assert!(file.ends_with(&format!("{STEM}_memory_profile.html")), "{file}");
    let page = fs::read_to_string(inference().path(&file)).expect("readable");
    assert!(
        page.starts_with("<!DOCTYPE html>") && page.contains("data:image/svg+xml,%3C"),
        "{page}"
    );
    assert_eq!(inference().cell("test_linear", "int8wo", "memory_visualization_path"), file);
}

pub fn memory_profiler(row: &Row) {
    let files = inference().inside(row.code()[0]);
    // Three recipes, each with a snapshot and a page.
    assert_eq!(files.len(), 6, "{files:?}");
}

pub fn csv_file(row: &Row) {
    assert!(row.code()[0].ends_with("csv --torchao-output"));
    let run = inference();
    let results: Vec<&str> =
        run.files.iter().filter(|it| it.ends_with(".csv")).map(String::as_str).collect();
    let [results] = results[..] else { panic!("one CSV: {results:?}") };
    let name = results.strip_prefix("torchao_results/inference/results_").expect("upstream's name");
    // ddmmyyyy_HHMMSS.csv
    let digits: String = name.chars().filter(char::is_ascii_digit).collect();
    assert_eq!((name.len(), digits.len(), &name[8..9]), (19, 14, "_"), "{name}");
    assert!(run.printed.starts_with(&format!("{results}: ")), "{}", run.printed);
}

pub fn csv_columns(row: &Row) {
    let first: Vec<&str> = inference().lines[0].iter().map(|(name, _)| name.as_str()).collect();
    for column in row.code() {
        assert!(first[..21].contains(&column), "{column}");
        let cell = inference().cell("test_linear", "int8wo", column);
        assert!(!cell.is_empty(), "{column}");
    }
}

/// The cell of int8wo in the column of ours.
fn figure(row: &Row) -> f64 {
    let column = row.code()[0];
    let cell = inference().cell("test_linear", "int8wo", column);
    cell.parse().unwrap_or_else(|_| panic!("{column}: {cell}"))
}

pub fn speedup(row: &Row) {
    let cell = |column: &str| inference().cell("test_linear", "int8wo", column);
    let bound = |column: &str| cell(column).parse::<f64>().expect("a number");
    assert!(bound("speedup_low") <= figure(row) && figure(row) <= bound("speedup_high"));
}

pub fn memory_usage(row: &Row) {
    let bytes = |column: &&str| inference().cell("test_linear", "int8wo", column).parse::<u64>();
    let parts: Vec<u64> = row.code().iter().map(|it| bytes(it).expect("a number")).collect();
    let [step, weights, inputs] = parts[..] else { panic!("{parts:?}") };
    // int8 with a scale and a zero point for each row; a step converts the weight and makes an output.
    assert_eq!((weights, inputs), (64 * 32 + 32 * (2 + 8), 16 * 64 * 2));
    assert!(step >= 64 * 32 * 2 + 16 * 32 * 2, "{step}");
}

pub fn latency(row: &Row) {
    assert!(figure(row) > 0.0);
}

pub fn profiling_data(row: &Row) {
    let path = inference().cell("test_linear", "int8wo", row.code()[0]);
    assert!(inference().path(path).is_file(), "{path}");
    assert_eq!(inference().cell("test_my_custom_model", "int8wo", row.code()[0]), "");
}

pub fn dashboard_config(_: &Row) {
    let text = block("tutorial-dashboard-with-placeholder");
    let cases = planned(&text);
    assert!(values(&cases, "recipe").contains(&"my_new_quantization".to_owned()));
    // Six recipes and the baseline are run eagerly and compiled, at 56 shapes; on CUDA int8wo is not packed unasked.
    assert_eq!(cases.len(), 56 * 7 * 2);
}

/// The records that `criterion-report dashboard` writes of the run.
fn dashboard(arguments: &[&str]) -> Vec<Value> {
    let only = ["dashboard", "--filter", "torchao/linear/cpu/.*16x64x32"];
    let text = inference().workspace.report(&[only.as_slice(), arguments].concat());
    serde_json::from_str(&text).expect("a JSON list")
}

pub fn ci_runner(row: &Row) {
    assert!(row.code()[1].ends_with("dashboard --output benchmark_results.json"));
    let file = inference().workspace.path("benchmark_results.json");
    let path = file.to_str().expect("UTF-8");
    let filter = ["--filter", "torchao/linear/cpu/.*16x64x32"];
    inference()
        .workspace
        .report(&[["dashboard", "--output", path], [filter[0], filter[1], "--latest"]].concat());
    let records: Vec<Value> =
        serde_json::from_str(&fs::read_to_string(&file).expect("written")).expect("a JSON list");
    assert!(records.iter().any(|it| it["benchmark"]["dtype"] == "my_new_quantization"));
}

pub fn ci_format(row: &Row) {
    assert!(row.code()[0].ends_with("dashboard --seed-format"));
    let records = dashboard(&["--seed-format"]);
    let record = records.iter().find(|it| it["benchmark"]["dtype"] == "int8wo");
    let record = record.unwrap_or_else(|| panic!("int8wo has a record: {records:?}"));
    let keys: Vec<&String> = record.as_object().expect("an object").keys().collect();
    assert_eq!(keys.len(), 5, "{keys:?}");
    assert_eq!(record["benchmark"]["name"], "micro-benchmark api");
    assert_eq!(record["benchmark"]["mode"], "inference");
    assert_eq!(record["benchmark"]["extra_info"]["device"], "cpu");
    assert_eq!(record["model"]["name"], "16-64-32");
    assert_eq!(record["model"]["type"], "micro-benchmark custom layer");
    assert_eq!(record["model"]["origins"][0], "torchao");
    assert_eq!(record["metric"]["name"], "speedup(wrt bf16)");
    assert!(record["metric"]["benchmark_values"][0].as_f64() > Some(0.0));
    assert_eq!(record["metric"]["target_value"], 0.0);
    assert_eq!((&record["runners"], &record["dependencies"]), (&json!([]), &json!({})));
}

pub fn ci_workflow(row: &Row) {
    assert!(row.code()[0].ends_with("validate benchmark_results.json"));
    let file = inference().workspace.path("to_validate.json");
    fs::write(&file, serde_json::to_string(&dashboard(&[])).expect("JSON")).expect("writable");
    // It fails if the uploader would lose anything.
    inference().workspace.report(&["validate", file.to_str().expect("UTF-8")]);
}

pub fn out_of_memory(row: &Row) {
    let id = "linear/cpu/int8wo/bf16-16777216x16777216x16777216";
    let outcome = &inference().record("inference", id)["outcome"];
    assert_eq!(outcome["status"], row.code()[0], "{outcome}");
}

pub fn compilation_errors(row: &Row) {
    let cases = planned(&format!(
        "quantization_config_recipe_names: [int8wo]\nmodel_params: {{ {} }}",
        row.code()[0]
    ));
    assert!(cases.iter().all(|case| case["compile"].is_null()));
    let both = planned("use_torch_compile: true");
    assert!(both[0]["compile"].is_null() && !both[1]["compile"].is_null(), "the eager one, too");
}

pub fn missing_method(row: &Row) {
    let said = refused("quantization_config_recipe_names: [int8w0]\nmodel_params: { device: cpu }");
    assert!(said.contains(row.code()[0]) && said.contains("did you mean `int8wo`?"), "{said}");
}

pub fn device_not_available(row: &Row) {
    let status = |device: &str| {
        let id = format!("linear/{device}/baseline/bf16-16x64x32");
        inference().record("inference", &id)["outcome"]["status"].clone()
    };
    let absent = ["cuda", "xpu", "mps"].map(status).into_iter().filter(|it| it != "measured");
    assert!(absent.into_iter().all(|status| status == row.code()[0]));
}

pub fn good_practice(row: &Row) {
    let config = "quantization_config_recipe_names: [int8wo]\npacked: false\nmodel_params:\n  \
                  - { name: nightly, device: cpu, matrix_shapes: [{ name: small_sweep }] }\n  \
                  - { name: nightly, device: cuda, matrix_shapes: [{ name: small_sweep }] }\n";
    // The row's own command, whose table says for how long it measures.
    let table = String::from_utf8(run_on(row, config).stdout).expect("UTF-8");
    assert!(table.contains("140 cases in 2 groups; about "), "{table}");
    let cases = planned(config);
    let of = |device: &str| -> Vec<&Value> {
        cases.iter().filter(|case| case["device"] == device).collect()
    };
    let shapes_of = |device: &str| -> Vec<String> {
        of(device).iter().map(|case| case["shape_names"].to_string()).collect()
    };
    // Several devices, with the same shapes and names on both.
    assert_eq!((of("cpu").len(), of("cuda").len()), (70, 70));
    assert_eq!(shapes_of("cpu"), shapes_of("cuda"));
    assert_eq!(values(&cases, "names"), [r#"["nightly"]"#]);
    // A baseline beside every case, though none is listed.
    let baselines = cases.iter().filter(|case| case["role"] == "baseline").count();
    assert_eq!(baselines, 70);
    // `small_sweep` is the smaller one, at the same powers.
    let sweep = |name: &str| {
        let range = "min_power: 10, max_power: 12";
        shapes(&planned(&format!("matrix_shapes: [{{ name: {name}, {range} }}]")))
    };
    let (small, whole) = (sweep("small_sweep"), sweep("sweep"));
    assert!(small.len() < whole.len() && small.iter().all(|shape| whole.contains(shape)));
    // No profile without a key that asks for it.
    let unasked = inference().record("inference", "my_custom_model/cpu/int8wo/bf16-16x64x32");
    assert_eq!(unasked["case"]["profiling"], json!({ "profiler": false, "memory": false }));
}

//! The rows of training.

use super::run::{block, help, planned, refused, shapes, training, values};
use crate::page::Row;

pub fn training_runner(row: &Row) {
    let command = row.code()[0];
    assert!(help(command).contains("--torchao-output[=<DIR>]"), "{command}");
    let run = training();
    assert!(
        run.files.iter().all(|it| it.starts_with("torchao_results/training/")),
        "{:?}",
        run.files
    );
}

pub fn training_config(_: &Row) {
    let cases = planned(&block("readme-training"));
    assert_eq!(values(&cases, "recipe"), ["baseline", "float8dq-tensor", "float8dq-row"]);
    assert_eq!(shapes(&cases), [[1024, 1024, 1024], [2048, 4096, 1024], [4096, 4096, 1024]]);
}

/// A config of training with another line.
fn with(line: &str) -> String {
    format!("benchmark_mode: training\n{line}\nmodel_params: {{ device: cuda }}")
}

pub fn mode_training(row: &Row) {
    let cases = planned(&format!("{}\nmodel_params: {{ device: cpu }}", row.code()[0]));
    assert_eq!(values(&cases, "mode"), ["training"]);
    let elsewhere = refused("scaling_granularity: rowwise\nmodel_params: { device: cpu }");
    assert!(elsewhere.contains("scaling_granularity"), "{elsewhere}");
}

pub fn training_baseline(row: &Row) {
    let recipes = values(&planned(&with(row.code()[0])), "recipe");
    assert_eq!(recipes, ["baseline", "float8dq-tensor"]);
}

pub fn scaling_types(row: &Row) {
    planned(&with(row.code()[0]));
    let keys = ["input", "weight", "grad_output"].map(|it| format!("scaling_type_{it}: disabled"));
    planned(&with(&keys.join("\n")));
    let mixed = refused(&with(&format!(
        "quantization_config_recipe_names: [float8dq-tensor]\n{}",
        keys[0]
    )));
    assert!(mixed.contains("scaling_type_"), "{mixed}");
}

pub fn granularity(row: &Row) {
    planned(&with(row.code()[0]));
    planned(&with("scaling_granularity: tensorwise"));
}

pub fn columnwise(row: &Row) {
    assert!(row.refusal().contains("raises"));
    let said = refused(&with("scaling_granularity: columnwise"));
    assert!(said.contains("`tensorwise`") && said.contains("`rowwise`"), "{said}");
}

pub fn fast_accum(row: &Row) {
    planned(&with(row.code()[0]));
    let record = training().record("training", "linear-forward/cpu/baseline/bf16-16x64x32");
    assert_eq!(record["case"]["settings"]["training"]["use_fast_accum"], true);
}

pub fn repeat_n(row: &Row) {
    planned(&with(row.code()[0]));
    assert_eq!(cell("repeat_n"), "100");
}

pub fn passes(row: &Row) {
    for group in row.code() {
        let part = group.rsplit('/').next().expect("a part");
        for variant in ["baseline", "float8dq-tensor"] {
            let record =
                training().record("training", &format!("{part}/cpu/{variant}/bf16-16x64x32"));
            assert_eq!(record["outcome"]["status"], "measured", "{record}");
        }
    }
}

/// A cell of float8dq-tensor.
fn cell(column: &str) -> &'static str {
    training().cell("float8_linear_training", "float8dq-tensor", column)
}

pub fn training_times(row: &Row) {
    for column in row.code() {
        assert!(cell(column).parse::<f64>().expect("a number") > 0.0, "{column}");
    }
}

pub fn training_speedup(row: &Row) {
    assert!(row.code()[0].ends_with("csv --layout training"));
    let text = training().lab.report(&["csv", "--layout", "training"]);
    assert!(text.lines().next().expect("a heading").contains(",speedup,"), "{text}");
    let found = cell("speedup");
    // A pair that a busy machine disturbed is refused, with its reason.
    assert!(!found.is_empty() || cell("absent").contains("speedup: "), "{}", cell("absent"));
}

pub fn scaling_details(row: &Row) {
    let repr = cell(row.code()[0]);
    assert!(repr.contains("i:dyn_ten_e4m3,w:dyn_ten_e4m3,go:dyn_ten_e5m2"), "{repr}");
}

pub fn training_output(row: &Row) {
    let [table, folders] = row.code()[..] else { panic!("two commands") };
    assert!(table.ends_with("criterion-report training") && folders.ends_with("--torchao-output"));
    let text = training().lab.report(&["training"]);
    assert!(text.contains("float8dq-tensor") && text.contains("16"), "{text}");
    let results = training().files.iter().filter(|it| it.ends_with(".csv")).count();
    assert_eq!((results, training().lines.len()), (1, 4), "a line for each recipe");
}

pub fn training_profile(row: &Row) {
    let name = "float8_linear_training_16_64_32_quant_float8dq-tensor_sparsity_None";
    planned(&format!("benchmark_mode: training\nmodel_params: {{ {} }}", row.code()[0]));
    let traces = training().inside("training/profiler");
    let own: Vec<&&str> = traces.iter().filter(|it| it.contains(name)).collect();
    assert_eq!(own.len(), 3, "forward, backward and both: {traces:?}");
    let whole = format!("torchao_results/training/profiler/{name}_profile.json");
    assert_eq!(cell("profiler_json_path"), whole);
    assert!(own.iter().any(|it| ***it == whole), "{own:?}");
}

pub fn training_datatype(row: &Row) {
    assert!(row.refusal().contains("backward pass"));
    let id = "linear-forward/cpu/my_new_quantization/bf16-16x64x32";
    let outcome = training().record("training", id)["outcome"].clone();
    assert_eq!(outcome["status"], "unsupported", "{outcome}");
    assert!(
        outcome["reason"].as_str().expect("a reason").contains("no recipe of training"),
        "{outcome}"
    );
}

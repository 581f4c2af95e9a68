//! The rows of training.

use super::run::{block, help, measured, planned, refused, shapes, training, values, words};
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
fn config_with(line: &str) -> String {
    format!("benchmark_mode: training\n{line}\nmodel_params: {{ device: cuda }}")
}

pub fn mode_training(row: &Row) {
    let cases = planned(&format!("{}\nmodel_params: {{ device: cpu }}", row.code()[0]));
    assert_eq!(values(&cases, "mode"), ["training"]);
    let elsewhere = refused("scaling_granularity: rowwise\nmodel_params: { device: cpu }");
    assert!(elsewhere.contains("scaling_granularity"), "{elsewhere}");
}

pub fn training_baseline(row: &Row) {
    let recipes = values(&planned(&config_with(row.code()[0])), "recipe");
    assert_eq!(recipes, ["baseline", "float8dq-tensor"]);
}

pub fn scaling_types(row: &Row) {
    planned(&config_with(row.code()[0]));
    let keys = ["input", "weight", "grad_output"].map(|it| format!("scaling_type_{it}: disabled"));
    planned(&config_with(&keys.join("\n")));
    let mixed = refused(&config_with(&format!(
        "quantization_config_recipe_names: [float8dq-tensor]\n{}",
        keys[0]
    )));
    assert!(mixed.contains("scaling_type_"), "{mixed}");
}

pub fn granularity(row: &Row) {
    planned(&config_with(row.code()[0]));
    planned(&config_with("scaling_granularity: tensorwise"));
}

pub fn columnwise(row: &Row) {
    assert!(row.refusal().contains("raises"));
    let said = refused(&config_with("scaling_granularity: columnwise"));
    assert!(said.contains("`tensorwise`") && said.contains("`rowwise`"), "{said}");
}

pub fn fast_accum(row: &Row) {
    planned(&config_with(row.code()[0]));
    let record = training().record("training", "linear-forward/cpu/baseline/bf16-16x64x32");
    assert_eq!(record["case"]["settings"]["training"]["use_fast_accum"], true);
}

/// A config of training with a model's keys.
fn with_model(keys: &str) -> String {
    format!("benchmark_mode: training\npasses: [forward]\nmodel_params: {{ {keys} }}")
}

pub fn training_shapes(row: &Row) {
    let found = shapes(&planned(&with_model(row.code()[0])));
    let m: i64 = 4 * 4096;
    let llama = [[m, 8192, 1280], [m, 1024, 8192], [m, 8192, 7168], [m, 3584, 8192]];
    let pow2: [[i64; 3]; 5] = [10, 11, 12, 13, 14].map(|power| [1 << power; 3]);
    assert_eq!(found, [&[[16, 64, 32]][..], &llama, &pow2].concat());
}

pub fn training_models(row: &Row) {
    for (model, shape) in
        [("linear", "16x64x32"), ("ln_linear_relu", "16x64x32"), ("transformer_block", "16x64x64")]
    {
        assert!(row.code().contains(&model), "{}", row.ours);
        let cases = planned(&with_model(&format!("model_type: {model}")));
        assert_eq!(values(&cases, "model"), [model]);
        if model != "linear" {
            for recipe in ["baseline", "float8dq-tensor"] {
                measured(&format!(
                    "training/torchao_models/{model}-forward_backward/cpu/{recipe}/bf16-{shape}"
                ));
            }
        }
    }
    // It is what all other rows measure.
    let record = training().record("training", "linear-forward/cpu/baseline/bf16-16x64x32");
    assert_eq!(record["outcome"]["status"], "measured", "{record}");
}

pub fn training_devices(row: &Row) {
    for key in row.code() {
        let device = key.trim_start_matches("device: ").trim_matches('"');
        assert_eq!(values(&planned(&with_model(key)), "device"), [device]);
    }
    let id = "training/torchao_models/linear-forward_backward/cuda/float8dq-tensor/bf16-16x64x32";
    let outcome = &words()[id]["outcome"];
    if outcome["status"] != "measured" {
        assert_eq!(outcome["status"], "skipped", "{outcome}");
        assert!(outcome["reason"].as_str().expect("a reason").contains("libtorch"), "{outcome}");
    }
}

pub fn repeat_n(row: &Row) {
    planned(&config_with(row.code()[0]));
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
    let text = training().workspace.report(&["csv", "--layout", "training"]);
    assert!(text.lines().next().expect("a heading").contains(",speedup,"), "{text}");
    let found: f64 = cell("speedup").parse().unwrap_or_else(|_| panic!("{}", cell("absent")));
    // The speed-up of the whole step, from interleaved pairs.
    let whole = "linear-forward_backward/cpu/float8dq-tensor/bf16-16x64x32";
    let pair = &training().record("training", whole)["pairs"][0];
    let speedup = pair["speedup"].as_f64().expect("it has a pair");
    assert!((found / speedup - 1.0).abs() < 1e-3, "{found} instead of {speedup}");
}

pub fn scaling_details(row: &Row) {
    let repr = cell(row.code()[0]);
    assert!(repr.contains("i:dyn_ten_e4m3,w:dyn_ten_e4m3,go:dyn_ten_e5m2"), "{repr}");
}

pub fn training_output(row: &Row) {
    let [table, folders] = row.code()[..] else { panic!("two commands") };
    assert!(table.ends_with("criterion-report training") && folders.ends_with("--torchao-output"));
    let text = training().workspace.report(&["training"]);
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

pub fn training_memory_profile(row: &Row) {
    let name = "float8_linear_training_16_64_32_quant_float8dq-tensor_sparsity_None";
    planned(&with_model(row.code()[0]));
    for part in ["forward", "backward", "forward_backward"] {
        let id = format!("linear-{part}/cpu/float8dq-tensor/bf16-16x64x32");
        let record = training().record("training", &id);
        assert!(record["profile"]["memory"]["peak_bytes"].as_u64() > Some(0), "{record}");
    }
    let files = training().inside("training/memory_profiler");
    for end in [".pickle", ".html"] {
        let own = files.iter().filter(|it| it.contains(name) && it.ends_with(end)).count();
        assert_eq!(own, 3, "forward, backward and both: {files:?}");
    }
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

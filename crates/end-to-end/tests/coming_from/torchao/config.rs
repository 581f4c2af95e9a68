//! The rows of commands, keys, recipes, models, devices, shapes and profiles.

use serde_json::Value;

use super::run::{block, help, inference, measured, planned, refused, shapes, values};
use crate::gpu;
use crate::page::Row;

pub fn runner(row: &Row) {
    let [command, ..] = row.code()[..] else { panic!("a command") };
    assert!(command.ends_with("--torchao-output"), "{command}");
    assert!(help(command).contains("--torchao-output[=<DIR>]"), "{}", help(command));
    let files = inference().inside("inference");
    assert!(files.iter().any(|it| it.ends_with(".csv")), "{files:?}");
}

pub fn sample(_: &Row) {
    let cases = planned(&block("readme-sample"));
    let variants = ["int8wo+max-autotune", "float8wo+max-autotune", "float8dq-tensor+max-autotune"];
    assert!(variants.iter().all(|it| values(&cases, "variant").contains(&(*it).to_owned())));
    assert_eq!(shapes(&cases).len(), 3);
}

pub fn quick_start(_: &Row) {
    let cases = planned(&block("tutorial-quick-start"));
    // On CUDA int8wo is not packed unasked.
    assert_eq!(values(&cases, "variant"), ["baseline", "int8wo"]);
}

pub fn several_models(_: &Row) {
    let cases = planned(&block("tutorial-several-models"));
    assert_eq!(values(&cases, "device"), ["cuda", "cpu"]);
    assert_eq!(values(&cases, "model"), ["linear", "transformer_block"]);
    // Three cubes, three of llama's four (two differ in n alone), and one on the CPU.
    assert_eq!(cases.len(), 7);
}

pub fn own_tests(row: &Row) {
    let [command] = row.code()[..] else { panic!("one command") };
    // It runs `cargo test`, which runs this.
    let words = command.split(' ').skip(1).chain(["--help"]).map(Into::into).collect();
    let help = cargo_torch_bench::check::<xtask::Cli>(words).expect_err("help").to_string();
    assert!(help.contains("cargo test --workspace"), "{help}");
}

/// The cases of a config whose first keys are those of our cell.
fn at_top(row: &Row) -> Vec<Value> {
    planned(&format!("{}\nmodel_params: {{ device: cpu }}", row.code()[0]))
}

/// The cases of a model with the key of our cell.
fn in_model(row: &Row) -> Vec<Value> {
    planned(row.code()[0])
}

pub fn mode_inference(row: &Row) {
    assert_eq!(values(&at_top(row), "mode"), ["inference"]);
}

pub fn recipe_names(row: &Row) {
    assert_eq!(values(&at_top(row), "recipe"), ["baseline", "int8wo"]);
    let without = row.code()[0].replace("baseline, ", "");
    let cases = planned(&format!("{without}\nmodel_params: {{ device: cpu }}"));
    assert_eq!(values(&cases, "recipe"), ["baseline", "int8wo"]);
}

pub fn output_dir(row: &Row) {
    assert_eq!(at_top(row).len(), 1);
    let run = inference();
    assert!(run.files.iter().all(|it| it.starts_with("torchao_results/inference/")));
    assert_eq!(run.cell("test_linear", "int8wo", "output_dir"), "torchao_results");
}

pub fn name(row: &Row) {
    assert_eq!(in_model(row)[0]["names"][0], "small_models");
}

pub fn dtype(row: &Row) {
    assert_eq!(values(&in_model(row), "dtype"), ["torch.bfloat16"]);
    assert!(refused("high_precision_dtype: \"torch.bfloat61\"").contains("did you mean"));
}

pub fn use_torch_compile(row: &Row) {
    assert_eq!(values(&in_model(row), "variant"), ["baseline"]);
    let compiled = planned("use_torch_compile: true");
    assert_eq!(values(&compiled, "variant"), ["baseline", "baseline+compile"]);
}

pub fn compile(row: &Row) {
    assert_eq!(values(&in_model(row), "variant"), ["baseline", "baseline+max-autotune"]);
    assert_eq!(planned("compile: \"false\"").len(), 1);
    let default = planned("compile: \"default\"");
    assert_eq!(values(&default, "variant"), ["baseline", "baseline+compile"]);
}

pub fn compile_mode(row: &Row) {
    let with = |mode: &str| planned(&format!("use_torch_compile: true\n{mode}"));
    let compiled = with(row.code()[0]);
    assert_eq!(values(&compiled, "variant"), ["baseline", "baseline+max-autotune"]);
    assert_eq!(with("torch_compile_mode: \"false\"").len(), 1);
    assert_eq!(with("torch_compile_mode: \"default\"").len(), 2);
}

/// The outcome of a case whose device this machine may lack.
fn ended(id: &str) -> (String, String) {
    let outcome = &inference().record("inference", id)["outcome"];
    let text = |key: &str| outcome[key].as_str().unwrap_or_default().to_owned();
    (text("status"), text("reason"))
}

/// Measured where the device is, and otherwise skipped or unsupported with what libtorch says.
fn is_asked_of_libtorch(id: &str) {
    let (status, reason) = ended(id);
    if status != "measured" {
        assert!(["skipped", "unsupported"].contains(&&*status), "{id}: {status}: {reason}");
        assert!(reason.contains("libtorch"), "{id}: {reason}");
    }
}

pub fn max_autotune_on_cuda(row: &Row) {
    let [mode, device] = row.code()[..] else { panic!("two keys") };
    let cases = planned(&format!("use_torch_compile: true\n{mode}\n{device}"));
    assert_eq!(values(&cases, "variant"), ["baseline", "baseline+max-autotune"]);
    is_asked_of_libtorch("linear/cuda/int8wo+max-autotune/bf16-16x64x32");
    // Where there is a GPU, the record says that we captured the graph.
    gpu::modes_with_cuda_graphs_are_measured_where_there_is_a_gpu();
}

/// The words of our cell are recipes exactly as they are spelled, and are measured.
fn are_recipes(row: &Row) {
    for word in row.code() {
        let config =
            format!("quantization_config_recipe_names: [{word}]\nmodel_params: {{ device: cpu }}");
        assert!(values(&planned(&config), "recipe").contains(&word.to_owned()), "{word}");
        let record =
            measured(&format!("inference/torchao_recipes/linear/cpu/{word}/bf16-16x64x32"));
        assert_eq!(record["case"]["recipe"], word);
    }
}

macro_rules! recipes {
    ($($name:ident)*) => {$(
        pub fn $name(row: &Row) {
            are_recipes(row);
        }
    )*};
}

recipes! { baseline int8wo int8dq int4wo int4wo_hqq float8wo float8dq_tensor float8dq_row gemlitewo }

/// The baseline and int8wo of a model, measured in inference.
fn is_measured_model(model: &str, shape: &str) {
    for recipe in ["baseline", "int8wo"] {
        let id = format!("inference/torchao_models/{model}/cpu/{recipe}/bf16-{shape}");
        assert_eq!(measured(&id)["case"]["model"], model);
    }
}

pub fn linear(row: &Row) {
    assert_eq!(values(&in_model(row), "model"), ["linear"]);
    is_measured_model("linear", "16x64x32");
}

pub fn ln_linear(row: &Row) {
    assert_eq!(row.code().len(), 7);
    for word in row.code() {
        assert_eq!(values(&planned(&format!("model_type: {word}")), "model"), [word]);
        is_measured_model(word, "16x64x32");
    }
}

pub fn transformer_block(row: &Row) {
    assert_eq!(values(&in_model(row), "model"), ["transformer_block"]);
    // It goes from k features to k.
    is_measured_model("transformer_block", "16x64x64");
}

pub fn dimensions(row: &Row) {
    assert_eq!(shapes(&in_model(row)), [[16, 64, 32]]);
    let record = inference().record("inference", "linear/cpu/baseline/bf16-16x64x32");
    let memory = &record["measures"]["memory"];
    assert_eq!(
        (&memory["inputs_bytes"], &memory["weights_bytes"]),
        (&(16 * 64 * 2).into(), &(64 * 32 * 2).into())
    );
}

pub fn device_cpu(row: &Row) {
    assert_eq!(values(&in_model(row), "device"), ["cpu"]);
    assert_eq!(ended("linear/cpu/int8wo/bf16-16x64x32").0, "measured");
}

pub fn device_cuda(row: &Row) {
    assert_eq!(values(&in_model(row), "device"), ["cuda"]);
    is_asked_of_libtorch("linear/cuda/int8wo/bf16-16x64x32");
}

pub fn device_xpu(row: &Row) {
    assert_eq!(values(&in_model(row), "device"), ["xpu"]);
    assert!(row.refusal().contains("Intel GPUs"));
    assert_ne!(ended("linear/xpu/int8wo/bf16-16x64x32").0, "measured");
    is_asked_of_libtorch("linear/xpu/int8wo/bf16-16x64x32");
}

pub fn device_mps(row: &Row) {
    assert_eq!(values(&in_model(row), "device"), ["mps"]);
    is_asked_of_libtorch("linear/mps/int8wo/bf16-16x64x32");
}

pub fn custom(row: &Row) {
    assert_eq!(shapes(&in_model(row)), [[1024, 1024, 1024], [2048, 4096, 1024]]);
}

pub fn llama(row: &Row) {
    let cases = in_model(row);
    let names: Vec<&str> =
        cases.iter().filter_map(|case| case["shape_names"][0].as_str()).collect();
    assert_eq!(
        names,
        ["attn.wqkv", "attn.w0", "ffn.w13", "ffn.w2"].map(|it| format!("llama_{it}"))
    );
    let m = 4 * 4096;
    let expected = [[m, 8192, 1280], [m, 1024, 8192], [m, 8192, 7168], [m, 3584, 8192]];
    assert_eq!(shapes(&cases), expected);
}

pub fn pow2(row: &Row) {
    assert_eq!(shapes(&in_model(row)), [10, 11, 12, 13, 14].map(|power| [1 << power; 3]));
}

pub fn powers(row: &Row) {
    assert_eq!(shapes(&in_model(row)), [10, 11, 12].map(|power| [1 << power; 3]));
}

pub fn pow2_extended(row: &Row) {
    assert_eq!(shapes(&in_model(row)), [1024, 1536, 2048, 3072].map(|size| [size; 3]));
    assert_eq!(planned("matrix_shapes: [{ name: pow2_extended }]").len(), 10);
}

pub fn small_sweep(row: &Row) {
    let found = shapes(&in_model(row));
    assert!(found.len() == 56 && found.iter().all(|[m, k, n]| m <= k && k <= n));
}

pub fn sweep(row: &Row) {
    let found = shapes(&in_model(row));
    assert!(found.len() == 8 && found.iter().flatten().all(|size| [256, 512].contains(size)));
    assert_eq!(planned("matrix_shapes: [{ name: sweep }]").len(), 512);
}

//! The rows about user recipes and user models.

use std::path::Path;

use super::run::{block, inference, planned, values};
use crate::page::Row;

/// The file of our cell, and the cases that it produced.
fn is_measured(row: &Row, group: &str, variant: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(row.code()[0]);
    assert!(file.is_file(), "{file:?}");
    let record = inference().record("inference", &format!("{group}/cpu/{variant}/bf16-16x64x32"));
    assert_eq!(record["outcome"]["status"], "measured", "{record}");
    // Against float64, within the gate of its file.
    assert!(record["accuracy"]["sqnr_db"].as_f64() > Some(30.0), "{record}");
}

pub fn new_recipe(row: &Row) {
    is_measured(row, "linear", "my_new_quantization");
    let cell = |column| inference().cell("test_linear", "my_new_quantization", column);
    assert!(cell("model_inference_time_in_ms").parse::<f64>().expect("a time") > 0.0);
    // A byte for each weight, and one scale in bfloat16.
    let record = inference().record("inference", "linear/cpu/my_new_quantization/bf16-16x64x32");
    assert_eq!(record["measures"]["memory"]["weights_bytes"], 64 * 32 + 2);
}

pub fn test_my_quantization(_: &Row) {
    let cases = planned(&block("tutorial-recipe-placeholder"));
    assert_eq!(values(&cases, "variant"), ["baseline", "my_new_quantization"]);
    let id = "linear/cuda/my_new_quantization/bf16-16x64x32";
    let status = inference().record("inference", id)["outcome"]["status"].clone();
    assert!(status == "skipped" || status == "measured", "{status}");
}

pub fn new_model(row: &Row) {
    is_measured(row, "my_custom_model", "int8wo");
    is_measured(row, "my_custom_model", "my_new_quantization");
}

pub fn test_my_model(_: &Row) {
    let cases = planned(&block("tutorial-model-placeholder"));
    assert_eq!(values(&cases, "model"), ["my_custom_model"]);
    assert_eq!(values(&cases, "recipe"), ["baseline", "int8wo"]);
}

pub fn model_requirements(row: &Row) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/models/my_custom_model.rs");
    let text = std::fs::read_to_string(file).expect("readable");
    assert!(text.contains(row.code()[0]));
    // The model names neither.
    assert!(!text.contains("BFloat16") && !text.contains("Device"), "{text}");
    let cases = planned(&block("tutorial-model-placeholder").replace("bfloat16", "float32"));
    assert_eq!(values(&cases, "dtype"), ["torch.float32"]);
}

//! What a person reads who has made a mistake.

use std::path::Path;

use plan::Config;

fn errors(text: &str) -> String {
    Config::parse(Path::new("configs/inference/mine.yml"), text).unwrap_err().to_string()
}

#[test]
fn all_errors_of_a_file_come_at_once_with_their_places() {
    insta::assert_snapshot!(errors(
        r#"benchmark_mode: "inferense"
quantization_config_recipe_names:
  - "int8w0"
  - "int4wo-48"
  - "quantum"
sparsity_config_recipe_names: ["None"]
thread: 2
repeat_n: 5
model_params:
  - name: "a"
    matrix_shapes:
      - name: "pow"
      - name: "custom"
        shapes: [[1024, 1024], [1, 2, "x"]]
      - name: "sweep"
        min_power: 12
        max_power: 10
      - shapes: [[1, 2, 3]]
    high_precision_dtype: "torch.int3"
    use_torch_compile: yes please
    device: "gpu"
    model_type: "ln_linear_gelo"
    allocator: jemalloc
    sampling: { sample: 20, samples: 3, warm_up_s: -1, tarmet: 0.01, target: 1 }
    latency: { call: 100, calls: 9 }
    energy: { window: 2, window_s: 0.5, subtract_idle: 1 }
    out: preallocated
  - "b"
"#
    ));
}

#[test]
fn one_mistake_one_line() {
    let cases = [
        "model_params: [",
        "just text",
        "benchmark_mode: inference",
        "model_params: []",
        "model_params: { matrix_shapes: [] }",
        "model_params: { matrix_shapes: [{ name: custom }] }",
        "model_params: { compile: fast }",
        "model_params: { compile: false, use_torch_compile: true }",
        "model_params: { name: x }\nmodel_params: { name: y }",
        "model_params: { device: cuda:1 }",
        "model_params: { threads: 0 }",
        "model_params: { sampling: { target: 0.0005 } }",
        "model_params: { sampling: { target: 1% } }",
        "model_params: { latency: 1000 }",
        "model_params: { latency: { calls: 1000001 } }",
        "model_params: { energy: fasle }",
        "model_params: { energy: \"true\" }",
        "model_params: { energy: { window_s: .inf } }",
        "model_params: { outt: true }",
        "",
        "# only a comment",
        "device: cuda\nmodel_params: {}",
        "model_params: { benchmark_mode: inference }",
        "model_params: { use_torch_compile: \"true\", torch_compile_mode: fast }",
        "quantization_config_recipe_names: int8wo\nmodel_params: {}",
        "1: 2\nmodel_params: {}",
        "model_params: { matrix_shapes: [{ name: llama, min_power: 3 }] }",
        "model_params: { matrix_shapes: [{ name: custom, shapes: [[1, 2, 3]], max_power: 3 }] }",
    ];
    let text = cases.map(|text| format!("{text}\n  -> {}\n", errors(text))).join("\n");
    insta::assert_snapshot!(text);
}

#[test]
fn a_file_that_is_not_there_or_badly_named() {
    let missing = Config::read(Path::new("configs/nowhere.yml")).unwrap_err();
    let named = Config::parse(Path::new("my config.yml"), "model_params: {}").unwrap_err();
    insta::assert_snapshot!(format!("{missing}\n{named}"));
}

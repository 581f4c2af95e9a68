//! Messages for mistakes in configs.

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
        "model_params: { compile: max-autotune, use_torch_compile: false }",
        "model_params: { compile: max-autotune, torch_compile_mode: default }",
        "model_params: { compile: max-autotune, torch_compile_mode: [default, max-autotune] }",
        "model_params: { compile: true, torch_compile_mode: false }",
        "model_params: { compile: true, use_torch_compile: true, torch_compile_mode: false }",
        "model_params: { compile: [] }",
        "model_params: { torch_compile_mode: [default, fast] }",
        "model_params: { compile_timeout_s: 0 }",
        "model_params: { case_timeout_s: -1 }",
        "model_params: { case_timeout_s: .inf }",
        "model_params: { case_timeout_s: 86401 }",
        "use_torch_compile: true\nmodel_params: {}",
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
        "judge: off\nmodel_params: { judge: off }",
        "model_params: { cuda_graph: reduce-overhead }",
        "benchmark_mode: training\nmodel_params: { cuda_graph: true }",
        "model_params: { unquantized_dtypes: float32 }",
        "model_params: { unquantized_dtypes: [int8] }",
        "",
        "# only a comment",
        "device: cuda\nmodel_params: {}",
        "model_params: { benchmark_mode: inference }",
        "model_params: { use_torch_compile: \"true\", torch_compile_mode: fast }",
        "model_params: { use_torch_compile: \"yes\" }",
        "model_params: { use_torch_compile: y }",
        "quantization_config_recipe_names: int8wo\nmodel_params: {}",
        "1: 2\nmodel_params: {}",
        "model_params: { matrix_shapes: [{ name: llama, min_power: 3 }] }",
        "model_params: { matrix_shapes: [{ name: custom, shapes: [[1, 2, 3]], max_power: 3 }] }",
        "model_params:\n  energy: true\n  threads: 2\n  energy: false",
        "model_params: { energy: true, \"energy\": false }\nmodel_params: {}",
        "benchmark_mode: kernels\noverride: { seed: 18446744073709551616 }",
        "model_params: { threads: -18446744073709551616 }\nöäü: 99999999999999999999",
        "model_params: { threads: 0x1_0 }",
        "model_params: { energy: !mine true }",
        "model_params: !!python/tuple [{ name: x }]",
        "!!map\nmodel_params: !!map { name: !!set { x } }",
    ];
    let text = cases.map(|text| format!("{text}\n  -> {}\n", errors(text))).join("\n");
    insta::assert_snapshot!(text);
}

#[test]
fn seconds_have_a_range() {
    let largest = "model_params: { compile_timeout_s: 86400, energy: { window_s: 86400 }, \
                   sampling: { warm_up_s: 0.001, measurement_s: 86400 } }";
    assert!(Config::parse(Path::new("mine.yml"), largest).is_ok());
    for (key, entry, least) in [
        ("compile_timeout_s", "compile_timeout_s: VALUE", "0.001"),
        ("sampling.measurement_s", "sampling: { measurement_s: VALUE }", "0.001"),
        ("sampling.warm_up_s", "sampling: { warm_up_s: VALUE }", "0.001"),
        ("energy.window_s", "energy: { window_s: VALUE }", "1"),
    ] {
        for (value, shown) in
            [("1e308", "1e308"), ("86400.5", "86400.5"), ("-1", "-1"), ("0", "0"), (".nan", ".nan")]
        {
            let text = format!("model_params:\n  {}\n", entry.replace("VALUE", value));
            let said = errors(&text);
            let start = "configs/inference/mine.yml:2:";
            let end = format!(
                ": model_params.{key}: `{shown}` is not a number from {least} to 86400; write \
                 seconds, up to a day, e.g. `{}`",
                if least == "1" { "2" } else { "0.5" }
            );
            assert!(said.starts_with(start) && said.ends_with(&end), "{said}");
        }
    }
}

#[test]
fn a_file_of_another_encoding_is_named_and_a_byte_order_mark_read_over() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("mine.yml");
    let text = "model_params: {}\n";
    std::fs::write(&file, format!("\u{feff}{text}")).expect("written");
    assert_eq!(Config::read(&file), Config::parse(&file, text));
    for (bytes, order) in [
        (
            text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>(),
            "(little-endian), which `iconv -f UTF-16LE",
        ),
        (
            text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            "(big-endian), which `iconv -f UTF-16BE",
        ),
    ] {
        std::fs::write(&file, bytes).expect("written");
        let said = Config::read(&file).unwrap_err().to_string();
        let end = format!(
            "mine.yml: cannot be read: its text is UTF-16 {order} -t UTF-8 OLD > NEW` makes UTF-8; \
             save it as UTF-8"
        );
        assert!(said.ends_with(&end), "{said}");
    }
}

#[test]
fn a_file_that_is_not_there_or_badly_named() {
    let missing = Config::read(Path::new("configs/nowhere.yml")).unwrap_err();
    let named = Config::parse(Path::new("my config.yml"), "model_params: {}").unwrap_err();
    insta::assert_snapshot!(format!("{missing}\n{named}"));
}

#[test]
fn mistakes_of_fusion() {
    let entries = [
        "{ patterns: [linear_bais] }",
        "{ patterns: [linear_bias], use_torch_compil: true }",
        "{ patterns: linear }",
        "{ patterns: [] }",
        "{ sizes: quick }",
        "{ patterns: [linear], sizes: small }",
        "{ patterns: [linear], sizes: [] }",
        "{ patterns: [linear], sizes: [64, 64, 64] }",
        "{ patterns: [linear], sizes: [[64, 64]] }",
        "{ patterns: [conv], sizes: [[1, 3, 64]] }",
        "{ patterns: [attention], sizes: [[1, 8, 512, 64]] }",
        "{ patterns: [linear], sizes: [[0, 64, 64]] }",
        "{ patterns: [linear, conv], sizes: [[64, 64, 64]] }",
        "{ patterns: [conv], heads: [8] }",
        "{ patterns: [attention], heads: 8 }",
        "{ patterns: [attention], heads: [0] }",
        "{ patterns: [qk_scores], causal: [true] }",
        "{ patterns: [full_attention], causal: true }",
        "{ patterns: [linear], memory_formats: [channels_last] }",
        "{ patterns: [conv], memory_formats: [nhwc] }",
        "{ patterns: [linear], variants: [folded] }",
        "{ patterns: [conv], variants: [fast] }",
        "{ patterns: [linear], variants: mkldnn }",
        "{ patterns: [linear], dtypes: [float64] }",
        "{ patterns: [linear], devices: [gpu] }",
        "{ patterns: [linear], device: cpu }",
        "{ patterns: [linear], dtype: torch.float32 }",
        "{ patterns: [linear], threads: [1, all] }",
        "{ patterns: [linear], out: true }",
        "{ patterns: [linear], benchmark_mode: fusion }",
        "{ pattern: [linear] }",
        "[linear]",
        "[]",
    ];
    let text = entries
        .map(|entry| format!("benchmark_mode: fusion\nfusion_params: {entry}"))
        .into_iter()
        .chain(
            [
                "fusion_params: { patterns: [linear] }",
                "benchmark_mode: fusion",
                "benchmark_mode: fusion\nmodel_params: {}",
                "benchmark_mode: fusion\ncalibration_params: { probes: [matmul] }",
                "benchmark_mode: fusion\npatterns: [linear]\nfusion_params: { patterns: [conv] }",
                "benchmark_mode: fuse\nfusion_params: { patterns: [lineer] }",
            ]
            .map(str::to_owned),
        )
        .map(|text| format!("{text}\n  -> {}\n", errors(&text)))
        .collect::<Vec<_>>()
        .join("\n");
    insta::assert_snapshot!(text);
}

#[test]
fn mistakes_of_calibration() {
    let entries = [
        "{ probes: [matmull] }",
        "{ probes: [launches] }",
        "{ probes: matmul }",
        "{ probes: [] }",
        "{ sizes: quick }",
        "{ probes: [matmul, stream] }",
        "{ probes: [launch, copy] }",
        "{ probes: [matmul], sizes: tiny }",
        "{ probes: [matmul], sizes: [] }",
        "{ probes: [matmul], sizes: 1024 }",
        "{ probes: [matmul], sizes: [4MiB] }",
        "{ probes: [matmul], sizes: [[64, 64, 64]] }",
        "{ probes: [stream], sizes: [1024] }",
        "{ probes: [copy], sizes: [4MB] }",
        "{ probes: [copy], sizes: [1.5MiB] }",
        "{ probes: [copy], sizes: [100GB, 2000000GiB] }",
        "{ probes: [launch], sizes: quick }",
        "{ probes: [compiled_call], sizes: [1] }",
        "{ probes: [call, compiled_call], dtypes: [torch.float16] }",
        "{ probes: [call, launch] }",
        "{ probes: [compiledcall] }",
        "{ probes: [stream], dtypes: [torch.bfloat16] }",
        "{ probes: [matmul], dtypes: [int8] }",
        "{ probes: [matmul], devices: [host] }",
        "{ probes: [matmul], threads: [1, many] }",
        "{ probes: [matmul], threads: [] }",
        "{ probes: [matmul], threads: 0 }",
        "{ probes: [matmul], heads: [8] }",
        "{ probes: [matmul], packed: true }",
        "{ probe: [matmul] }",
        "[]",
    ];
    let text = entries
        .map(|entry| format!("benchmark_mode: calibration\ncalibration_params: {entry}"))
        .into_iter()
        .chain(
            [
                "calibration_params: { probes: [matmul] }",
                "benchmark_mode: calibration",
                "benchmark_mode: calibration\nthreads: some\ncalibration_params: { probes: [copy] }",
                "benchmark_mode: calibration\nsizes: quick\ncalibration_params: { probes: [copy] }",
                "benchmark_mode: inference\nthreads: [1, all]\nmodel_params: {}",
            ]
            .map(str::to_owned),
        )
        .map(|text| format!("{text}\n  -> {}\n", errors(&text)))
        .collect::<Vec<_>>()
        .join("\n");
    insta::assert_snapshot!(text);
}

/// A mistake in what an entry measures hides none in the rest of it.
#[test]
fn mistakes_beside_a_wrong_word_are_reported_too() {
    let said = |text: &str, parts: &[&str]| {
        let errors = errors(text);
        for part in parts {
            assert!(errors.contains(part), "{part}\n{errors}");
        }
    };
    said(
        "benchmark_mode: fusion\nfusion_params: { patterns: [lineer], variants: [fuzed], \
         sizes: [[64, 0, 64]], heads: [0], causal: [maybe], name: [x] }",
        &["`lineer`", "`fuzed`", "sizes[0][1]", "heads[0]", "causal[0]", "name"],
    );
    said(
        "benchmark_mode: fusion\nfusion_params: { patterns: [lineer], sizes: quik, heads: [x] }",
        &["`lineer`", "`quik`", "heads[0]"],
    );
    said(
        "benchmark_mode: fusion\nfusion_params: { patterns: [linear], heads: [0], sizes: quik }",
        &["uses `heads`", "heads[0]", "`quik`"],
    );
    said(
        "benchmark_mode: calibration\ncalibration_params: { probes: [matmul, copy], \
         sizes: [16KB, 0], dtypes: [torch.int3], threads: some, name: [x] }",
        &["of several kinds", "`16KB`", "sizes[1]", "torch.int3", "threads", "name"],
    );
    said(
        "benchmark_mode: calibration\ncalibration_params: { probes: [matmull], sizes: quik }",
        &["`matmull`", "`quik`"],
    );
}

//! What a person reads who has made a mistake.

use std::path::Path;

use plan::{Config, expand};

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

/// As many errors as there are lines, each another one.
fn many_errors(count: usize) -> [(&'static str, String); 3] {
    let lines = |line: fn(usize) -> String| (0..count).map(line).collect::<String>();
    [
        (
            "unknown recipe `none-of-these-0`; use one of: ",
            "model_params: {}\nquantization_config_recipe_names:\n".to_owned()
                + &lines(|index| format!("  - none-of-these-{index}\n")),
        ),
        (
            "unknown recipe `int8w0`; did you mean `int8wo`?",
            "model_params: {}\nquantization_config_recipe_names:\n".to_owned()
                + &lines(|_| "  - int8w0\n".to_owned()),
        ),
        (
            "a shape has 3 dimensions, this one has 1; write [m, k, n]",
            "model_params:\n  matrix_shapes:\n    - name: custom\n      shapes:\n".to_owned()
                + &lines(|_| "        - [1]\n".to_owned()),
        ),
    ]
}

#[test]
fn of_very_many_errors_the_first_are_told_and_the_others_counted() {
    const COUNT: usize = 5_000;
    for (first, text) in many_errors(COUNT) {
        let said = errors(&text);
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.len(), 1001);
        assert!(lines[0].contains(first), "{}", lines[0]);
        let place = |line: &str| -> usize {
            line.split(':').nth(1).and_then(|line| line.parse().ok()).expect("a line")
        };
        let places: Vec<usize> = lines[..1000].iter().map(|line| place(line)).collect();
        assert!(places.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{places:?}");
        let last = format!(
            "configs/inference/mine.yml: {} more errors are not shown; mend those above first",
            COUNT - 1000
        );
        assert_eq!(lines[1000], last);
    }
}

#[test]
fn more_cases_than_a_million_are_refused_before_they_are_made() {
    let range = "{ name: sweep, min_power: 0, max_power: 24 }";
    let plan = |text: &str| expand(&[Config::parse(Path::new("mine.yml"), text)?]);
    let refused = |text: &str| plan(text).unwrap_err().to_string();
    // 25³ shapes, and as many times as many variants.
    let sizes = format!("model_params: {{ matrix_shapes: [{}] }}", [range; 65].join(", "));
    assert_eq!(
        refused(&sizes),
        "mine.yml: 1015625 sizes, of which each is a case, are more than 1000000; shorten the lists \
         and ranges of sizes, which multiply"
    );
    let model = format!("  - {{ matrix_shapes: [{range}] }}\n");
    let entries = format!("model_params:\n{}", model.repeat(2_000));
    let said = refused(&entries);
    assert!(said.starts_with("mine.yml: 31250000 sizes, of which each is a case,"), "{said}");
    let cases = format!(
        "quantization_config_recipe_names: [int8wo]\nmodel_params: {{ matrix_shapes: [{}] }}",
        [range; 40].join(", ")
    );
    assert_eq!(
        refused(&cases),
        "mine.yml: it expands to 1875000 cases, more than 1000000; list fewer sizes, variants, dtypes \
         or devices, which multiply"
    );
    let list = |count: usize| (1..=count).map(|it| it.to_string()).collect::<Vec<_>>().join(", ");
    let long = list(10_000);
    let operators = format!(
        "benchmark_mode: operators\noperator_params: {{ operators: [gelu], batch_sizes: [{long}], \
         sequence_lengths: [{long}], tensor_dimensions: [{long}] }}"
    );
    let said = refused(&operators);
    assert!(said.starts_with("mine.yml: 1000000000000 sizes, of which each is a case,"), "{said}");
    let fusion = format!(
        "benchmark_mode: fusion\nfusion_params: {{ patterns: [attention], heads: [{}], sizes: [{}] }}",
        list(2_000),
        ["[1, 2, 3]"; 1_000].join(", ")
    );
    let said = refused(&fusion);
    assert!(said.starts_with("mine.yml: 2000000 sizes, of which each is a case,"), "{said}");
    let sizes = (10..410).map(|it| format!("{it}KiB")).collect::<Vec<_>>().join(", ");
    let calibration = format!(
        "benchmark_mode: calibration\ncalibration_params: {{ probes: [stream], sizes: [{sizes}], \
         threads: [{}] }}",
        list(4_000)
    );
    let said = refused(&calibration);
    assert!(said.starts_with("mine.yml: it expands to 6400000 cases, more than"), "{said}");
}

#[test]
fn several_configs_are_counted_together() {
    let ranges = ["{ name: sweep, min_power: 0, max_power: 24 }"; 20].join(", ");
    let text = format!(
        "quantization_config_recipe_names: [int8wo]\nmodel_params: {{ matrix_shapes: [{ranges}] }}"
    );
    let configs =
        ["a.yml", "b.yml"].map(|file| Config::parse(Path::new(file), &text).expect("few"));
    assert_eq!(
        expand(&configs).unwrap_err().to_string(),
        "b.yml: it expands to 937500 cases, and the configs before it to 937500, together more than \
         1000000; list fewer sizes, variants, dtypes or devices, which multiply"
    );
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
        &["has a use for `heads`", "heads[0]", "`quik`"],
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

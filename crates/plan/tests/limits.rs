//! Configs with more errors than anybody reads, and more cases than anybody measures.

use std::path::Path;

use plan::{Config, expand};

fn errors(text: &str) -> String {
    Config::parse(Path::new("configs/inference/mine.yml"), text).unwrap_err().to_string()
}

/// A document with one error per line, each another one.
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
            "configs/inference/mine.yml: {} more errors are not shown; fix those above first",
            COUNT - 1000
        );
        assert_eq!(lines[1000], last);
    }
}

#[test]
fn after_very_many_errors_the_rest_is_not_read() {
    for (_, text) in many_errors(12_000) {
        let said = errors(&text);
        let last = said.lines().last().expect("a line");
        assert_eq!(
            last,
            "configs/inference/mine.yml: 9000 more errors are not shown, and the rest was not \
             read; fix those above first"
        );
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
        "mine.yml: 1015625 sizes make as many cases, which is more than 1000000; shorten the \
         lists and ranges of sizes, which multiply"
    );
    let model = format!("  - {{ matrix_shapes: [{range}] }}\n");
    let entries = format!("model_params:\n{}", model.repeat(2_000));
    let said = refused(&entries);
    assert!(said.starts_with("mine.yml: 31250000 sizes make as many cases,"), "{said}");
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
    assert!(said.starts_with("mine.yml: 1000000000000 sizes make as many cases,"), "{said}");
    let fusion = format!(
        "benchmark_mode: fusion\nfusion_params: {{ patterns: [attention], heads: [{}], sizes: [{}] }}",
        list(2_000),
        ["[1, 2, 3]"; 1_000].join(", ")
    );
    let said = refused(&fusion);
    assert!(said.starts_with("mine.yml: 2000000 sizes make as many cases,"), "{said}");
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
fn a_recipe_for_a_layer_that_the_model_lacks_is_an_error() {
    let text = |model: &str| {
        format!(
            "quantization_config_recipe_names: ['per_layer-q_proj=int8wo,upproj=int8dq']\n\
             model_params: {{ model_type: {model}, high_precision_dtype: torch.bfloat16 }}"
        )
    };
    let found = errors(&text("decoder-4-2-8-6-0"));
    let expected = "`decoder-4-2-8-6-0` has no linear layer `upproj`; did you mean `up_proj`?";
    assert!(found.contains(expected) && !found.contains("layer `q_proj`"), "{found}");
    let found = errors(&text("linear"));
    assert!(
        found.contains("`linear` has no linear layer `q_proj`; use one of: linear1"),
        "{found}"
    );
    assert!(
        Config::parse(Path::new("mine.yml"), &text("decoder-4-2-8-6-0").replace("upp", "up_p"))
            .is_ok()
    );
}

//! The document for programs.

use super::*;

#[test]
fn the_document_has_every_key_of_upstreams_dictionary() {
    let report = report("");
    let document = document(&report);
    assert_eq!(document["schema"], "criterion-torch/fusion");
    assert_eq!(document["version"], 1);
    let upstream = [
        "fusion_pattern",
        "input_shape",
        "output_shape",
        "kernel_size",
        "unfused_latency_ms",
        "fused_latency_ms",
        "unfused_gflops",
        "fused_gflops",
        "unfused_bytes",
        "fused_bytes",
        "speedup_factor",
        "memory_reduction",
        "flops",
        "gflops_improvement",
        "extra_params",
    ];
    for entry in document["results"].as_array().expect("a list") {
        for key in upstream {
            assert!(entry.get(key).is_some(), "{}: {key}", entry["full_id"]);
        }
    }
    let fused = entry(&document, "full_attention/cpu/fused/f32-4x256x64");
    assert_eq!(fused["fusion_pattern"], "FullAttention_SDPA");
    assert_eq!(fused["input_shape"], serde_json::json!([4, 256, 64]));
    assert_eq!(fused["unfused_bytes"], 4_194_304);
    assert_eq!(fused["fused_bytes"], 1_048_576);
    assert_eq!(fused["memory_reduction"], 0.75);
    assert_eq!(fused["speedup_factor"], 6.12);
    assert_eq!(fused["gflops_improvement"], 5.12);
    let ms = fused["fused_latency_ms"].as_f64().expect("a time");
    let gflops = fused["fused_gflops"].as_f64().expect("a rate");
    assert!((gflops - 68_681_728.0 / (ms * 1e6)).abs() < 1e-9);
    assert_eq!(fused["extra_params"]["heads"], 1);
    let one = self::report("full_attention/cpu/fused/f32-4");
    assert_snapshot!("fusion-json", write(&JSON, &one));
}

#[test]
fn the_documented_keys_are_those_written() {
    let page = std::fs::read_to_string("../docs/book/src/reports/fusion.md").expect("readable");
    let row = Regex::new("(?m)^\\| (`[^|]*`) \\|").expect("a valid pattern");
    let key = Regex::new("[a-z_0-9]+").expect("a valid pattern");
    let documented = |of: &str| -> Vec<String> {
        let (_, after) = page.split_once(&format!("\n{of}")).expect("its sentence");
        let (_, table) = after.split_once("\n| key |").expect("its table");
        let table = table.split("\n\n").next().expect("its text");
        let cells: String = row.captures_iter(table).map(|row| row[1].to_owned()).collect();
        let mut keys: Vec<String> = key.find_iter(&cells).map(|it| it.as_str().into()).collect();
        keys.sort();
        keys
    };
    let document = document(&report(""));
    let written = |value: &Value| -> Vec<String> {
        value.as_object().expect("an object").keys().cloned().collect()
    };
    for (of, value) in [("The document:", &document), ("A result:", &document["results"][0])] {
        let mut keys = written(value);
        keys.sort();
        assert_eq!(documented(of), keys, "{of}");
    }
}

#[test]
#[cfg(feature = "schema")]
fn the_document_is_as_its_schema_says() {
    crate::common::assert_as_schema("fusion-v1", &document(&report("")));
}

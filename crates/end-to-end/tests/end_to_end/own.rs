//! A recipe and a model of this package: from their files to records and every kind of report.

use serde_json::Value;

use crate::workspace::{TestWorkspace, assert_near};

const MLP: &str = "inference/own/mlp/cpu/VARIANT/f32-32x128x64";
const LINEAR: &str = "inference/own/linear/cpu/VARIANT/bf16-32x128x64";

fn find_record<'r>(records: &'r [Value], id: &str, variant: &str) -> &'r Value {
    let id = id.replace("VARIANT", variant);
    let found = records.iter().find(|record| record["full_id"] == id.as_str());
    found.unwrap_or_else(|| panic!("no record of {id}"))
}

#[test]
fn a_recipe_and_a_model_of_a_package_are_measured_and_reported() {
    let workspace = TestWorkspace::new();
    workspace.bench("inference", &["--quick", "^inference/own/"]);
    let records: Vec<Value> = workspace.records("new", "inference");
    let ids: Vec<&str> = records.iter().map(|it| it["full_id"].as_str().expect("an id")).collect();
    assert_eq!(ids, workspace.planned("inference/own.yml"));

    for model in [MLP, LINEAR] {
        for variant in ["baseline", "int8wo", "ternary-32", "ternary-32+out"] {
            let record = find_record(&records, model, variant);
            assert_eq!(record["outcome"]["status"], "measured", "{record}");
        }
        let refused = &find_record(&records, model, "ternary-48")["outcome"];
        assert_eq!(refused["status"], "unsupported");
        let reason = refused["reason"].as_str().expect("a reason");
        assert!(reason.ends_with("k = 128, but the group, 48, must divide it"), "{reason}");
    }

    let ternary = find_record(&records, MLP, "ternary-32");
    assert_eq!(
        ternary["kernels"],
        serde_json::json!(["aten::_to_copy", "aten::mul", "aten::linear"])
    );
    assert_eq!(ternary["pairs"].as_array().map(Vec::len), Some(1), "{ternary}");
    // 6 dB of the recipe, less the 3 of the model.
    assert_eq!(ternary["accuracy"]["min_sqnr_db"], 3.0);
    assert!(ternary["accuracy"]["sqnr_db"].as_f64() > Some(3.0), "{ternary}");
    // Two layers of 128·64 values in a byte each, and a float32 scale for 32 of them.
    let bytes = 2 * (128 * 64 + 128 * 64 / 32 * 4);
    assert_eq!(ternary["measures"]["memory"]["weights_bytes"], bytes);
    let weights = &ternary["weights"];
    assert_eq!((&weights["linears"], &weights["quantized"]), (&2.into(), &2.into()));
    assert_eq!(
        ternary["model"],
        serde_json::json!({"flops": 2 * 2 * 32 * 128 * 64, "output_elements": 32 * 128})
    );
    let out = find_record(&records, MLP, "ternary-32+out");
    assert_eq!(out["measures"]["memory"]["outputs_bytes"], 32 * 128 * 4);
    assert_eq!(
        find_record(&records, LINEAR, "ternary-32").get("model"),
        None,
        "the plan knows linear"
    );

    let exported: Value =
        serde_json::from_str(&workspace.report(&["export", "json"])).expect("JSON");
    let cases = exported["cases"].as_array().expect("a list");
    let case = find_record(cases, MLP, "ternary-32");
    let value = |name: &str| case["measures"][name]["value"].as_f64().expect("a number");
    assert!(value("speedup") > 0.0);
    assert_near(&case["measures"]["gflops"]["value"], 4.0 * 32.0 * 128.0 * 64.0 / value("latency"));
    for arguments in [["show"].as_slice(), &["csv"], &["export", "markdown"]] {
        let text = workspace.report(arguments);
        assert!(text.contains("ternary-32") && text.contains("mlp"), "{arguments:?}: {text}");
    }
    let dashboard: Vec<Value> =
        serde_json::from_str(&workspace.report(&["dashboard"])).expect("a JSON list");
    assert!(dashboard.iter().any(|record| record["benchmark"]["dtype"] == "ternary-32"));
    let page = workspace.path("report.html");
    workspace.report(&["html", "--output", page.to_str().expect("UTF-8")]);
    let page = std::fs::read_to_string(page).expect("written");
    assert!(page.contains("ternary-32") && page.contains("mlp"));
}

/// Impossible cases are refused with a reason; the others are measured.
#[test]
#[ignore = "nightly: Inductor compiles, a quarter of a minute each time"]
fn nightly_variants_of_an_own_recipe_and_model_are_compiled_or_refused() {
    let workspace = TestWorkspace::new().with_path("CRITERION_TORCH_CACHE", "cache");
    workspace.bench("inference", &["--quick", "^inference/own_variants/"]);
    let records: Vec<Value> = workspace.records("new", "inference");
    let of = |variant| {
        find_record(&records, "inference/own_variants/mlp/cpu/VARIANT/f32-32x128x64", variant)
    };
    let sparse = &of("ternary-32+semi-sparse")["outcome"];
    assert_eq!(sparse["status"], "unsupported", "{sparse}");
    let compiled = of("ternary-32+compile");
    if compiled["outcome"]["status"] == "skipped" {
        crate::skip::tool(&compiled["outcome"]);
        return;
    }
    assert_eq!(compiled["outcome"]["status"], "measured", "{compiled}");
    assert!(
        compiled["accuracy"]["eager"]["sqnr_db"].is_number()
            || compiled["accuracy"]["eager"]["sqnr_db"] == "inf"
    );
    assert_eq!(compiled["model"], of("ternary-32")["model"]);
}

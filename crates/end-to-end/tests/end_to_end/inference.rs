//! Models: to records, to a saved baseline, to CSV and dashboard JSON.

use crate::workspace::{LIST, TestWorkspace, ids};

fn id(variant: &str) -> String {
    format!("inference/tiny/linear/cpu/{variant}/bf16-16x64x32")
}

/// One test, because each step stands on the one before.
#[test]
fn from_yaml_to_csv_and_json() {
    let workspace = TestWorkspace::new();

    // The list is the plan, and nothing but the plan.
    let listed = workspace.listed("inference", "");
    let (tiny, others): (Vec<_>, Vec<_>) =
        listed.into_iter().partition(|id| id.starts_with("inference/tiny/"));
    assert_eq!(tiny, workspace.planned("inference/tiny.yml"));
    assert_eq!(tiny.len(), 12);
    let of = |config| workspace.planned(&format!("inference/{config}.yml"));
    assert_eq!(
        others,
        [
            "explain",
            "gpu",
            "inductor",
            "own",
            "own_variants",
            "torchao",
            "torchao_models",
            "torchao_recipes"
        ]
        .map(of)
        .concat()
    );

    // One selected case is prepared, and nothing for the others: the enormous ones would not fit,
    // and would have an outcome.
    workspace.bench("inference", &["--exact", &id("int8wo")]);
    let only = workspace.records("new", "inference");
    assert_eq!(statuses(&only), [(id("int8wo"), "measured".to_owned())]);

    // Everything, saved as a baseline: what cannot run is written down.
    let saved = ["--save-baseline", "main", "^inference/tiny/"];
    let (printed, all) = workspace.quiet_bench("inference", "main", &saved);
    assert!(printed.contains("time:"), "criterion's own output: {printed}");
    let mut expected = Vec::new();
    for (rest, status) in [
        ("linear/cpu/VARIANT/bf16-16x64x32", "measured"),
        ("linear/mps/VARIANT/bf16-32x64x32", "skipped"),
        ("linear/cpu/VARIANT/bf16-16777216x16777216x16777216", "oom"),
    ] {
        for variant in ["baseline", "int8wo", "int8wo+packed", "int8dq"] {
            let id = format!("inference/tiny/{}", rest.replace("VARIANT", variant));
            expected.push((id, status.to_owned()));
        }
    }
    assert_eq!(statuses(&all), expected);
    check_measures(&all[1]);

    check_csv(&workspace.report(&["csv", "--baseline", "main"]), &expected);
    check_dashboard(&workspace.report(&["dashboard", "--baseline", "main"]));

    // Against the saved baseline: the skipped and the enormous cases have none, and stop nothing.
    let compared =
        workspace.bench("inference", &["--baseline", "main", "^inference/tiny/.*16x64x32"]);
    assert!(compared.contains("change:"), "{compared}");
    let still: Vec<serde_json::Value> = workspace.records("main", "inference");
    assert_eq!(still, all, "left alone");

    // As tests, all that can run does.
    workspace.bench("inference", &["--test", "^inference/tiny/.*16x64x32"]);
}

#[test]
#[ignore = "nightly: cargo builds a benchmark optimized, minutes"]
fn nightly_cargo_bench_runs_the_config_that_a_variable_names() {
    let workspace = TestWorkspace::new();
    let config = "inference/tiny.yml";
    let bench = |arguments: &[&str]| workspace.cargo_bench("inference", config, arguments);
    assert_eq!(ids(&bench(&LIST)), workspace.planned(config));
    bench(&["--exact", &id("int8wo")]);
    let records = workspace.records("new", "inference");
    assert_eq!(statuses(&records), [(id("int8wo"), "measured".to_owned())]);
}

fn statuses(records: &[serde_json::Value]) -> Vec<(String, String)> {
    let text = |value: &serde_json::Value| value.as_str().expect("a string").to_owned();
    records.iter().map(|r| (text(&r["full_id"]), text(&r["outcome"]["status"]))).collect()
}

/// The measures of int8wo at (16, 64, 32).
fn check_measures(record: &serde_json::Value) {
    assert_eq!(record["full_id"], id("int8wo"));
    // 32·64 int8 weights, 32 bf16 scales, 32 int64 zero points.
    assert_eq!(record["measures"]["memory"]["weights_bytes"], 32 * 64 + 32 * 2 + 32 * 8);
    assert_eq!(record["measures"]["memory"]["inputs_bytes"], 16 * 64 * 2);
    let weights = &record["weights"];
    assert_eq!((&weights["quantized"], &weights["linears"]), (&1.into(), &1.into()));
    assert_eq!(weights["baseline_bytes"], 32 * 64 * 2);
    assert_eq!(weights["bits_per_weight"], 8.0 + (2.0 + 8.0) * 8.0 / 64.0);
    // The step converts the weight and makes a product and an output.
    let peak = record["measures"]["memory"]["step"]["peak_bytes"].as_u64().expect("a number");
    assert!(peak >= 32 * 64 * 2 + 16 * 32 * 2, "{peak}");
    assert!(record["accuracy"]["sqnr_db"].as_f64().expect("finite") > 38.0);
    assert_eq!(record["environment"]["torch"]["threads"], 1);
    assert!(record["environment"]["torch"]["libtorch"].as_str().unwrap().starts_with("2.11"));
    let last = &record["last_sample"];
    assert!(last["iters"].as_u64() > Some(0) && last["ns"].as_u64() > Some(0), "{last}");
}

fn check_csv(text: &str, expected: &[(String, String)]) {
    // Reasons and cautions hold commas.
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().expect("a header").clone();
    let column = |name: &str| header.iter().position(|it| it == name).expect("a known column");
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
    assert_eq!(rows.len(), expected.len());
    assert_eq!(header.iter().take(3).collect::<Vec<_>>(), ["name", "quantization", "sparsity"]);
    let int8wo = rows.iter().find(|row| row[column("full_id")] == id("int8wo")).expect("a row");
    let number = |name: &str| int8wo[column(name)].parse::<f64>().expect("a number");
    let (low, speedup, high) = (number("speedup_low"), number("speedup"), number("speedup_high"));
    assert!(0.0 < low && low <= speedup && speedup <= high, "{low} {speedup} {high}");
    assert!(number("pair_blocks") >= 8.0 && number("latency_calls") >= 5.0);
    let skipped = rows.iter().find(|row| &row[column("outcome")] == "skipped").expect("a row");
    assert_eq!(&skipped[column("model_inference_time_in_ms")], "", "absent is empty, not zero");
}

fn check_dashboard(text: &str) {
    let records: Vec<serde_json::Value> = serde_json::from_str(text).expect("a JSON list");
    let speedups = records.iter().filter(|record| {
        record["metric"]["name"] == "Fwd Speedup (x)" && record["benchmark"]["dtype"] == "int8wo"
    });
    let values: Vec<(&str, f64)> = speedups
        .filter_map(|record| {
            let value = record["metric"]["benchmark_values"][0].as_f64()?;
            Some((record["model"]["name"].as_str()?, value))
        })
        .collect();
    let [(eager, _), (packed, _)] = values[..] else { panic!("{text}") };
    assert!(packed.contains("packed") && !eager.contains("packed"), "{values:?}");
    assert!(values.iter().all(|(_, speedup)| *speedup > 0.0), "{text}");
    assert!(records.iter().all(|record| record["runners"] != serde_json::json!([])), "{text}");
}

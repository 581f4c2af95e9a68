//! From a YAML file through a real `cargo bench` to CSV and dashboard JSON, as a user would.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const CONFIG: &str = r#"
quantization_config_recipe_names: ["int8wo", "int8dq"]
sampling: { samples: 10, warm_up_s: 0.02, measurement_s: 10, target: 0.5 }
model_params:
  - name: "tiny"
    matrix_shapes:
      - name: "custom"
        shapes: [[16, 64, 32]]
    use_torch_compile: false
    device: "cpu"
    model_type: "linear"
  - name: "elsewhere"
    matrix_shapes:
      - name: "custom"
        shapes: [[32, 64, 32]]
    device: "mps"
  - name: "enormous"
    matrix_shapes:
      - name: "custom"
        shapes: [[16777216, 16777216, 16777216]]
    device: "cpu"
"#;

/// A folder with the config, and with criterion's and our own files of the runs.
struct Lab {
    folder: tempfile::TempDir,
}

impl Lab {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("tiny.yml"), CONFIG).expect("writable");
        Self { folder }
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    fn cargo(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO"))
            .args(arguments)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("BENCH_CONFIG", self.path("tiny.yml"))
            .env("CRITERION_HOME", self.path("criterion"))
            .output()
            .expect("cargo can be started")
    }

    /// `cargo bench -- <arguments>`; what it printed.
    fn bench(&self, arguments: &[&str]) -> String {
        let start = ["bench", "--quiet", "--bench", "inference", "--"];
        succeeded(&self.cargo(&[&start, arguments].concat()))
    }

    fn report(&self, arguments: &[&str]) -> String {
        let start = ["run", "--quiet", "--package", "criterion-report", "--"];
        succeeded(&self.cargo(&[&start, arguments].concat()))
    }
}

fn succeeded(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{said}", output.status);
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn id(variant: &str) -> String {
    format!("inference/tiny/linear/cpu/{variant}/bf16-16x64x32")
}

/// One test, because each step stands on the one before, and each `cargo bench` compiles.
#[test]
fn from_yaml_to_csv_and_json() {
    let lab = Lab::new();

    // The list is the plan, and nothing but the plan.
    let listed: Vec<String> = lab
        .bench(&["--list", "--format", "terse"])
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| line.trim_end_matches(": benchmark").to_owned())
        .collect();
    let config = lab.path("tiny.yml");
    let planned = lab.report(&["plan", "--format", "json", config.to_str().expect("UTF-8")]);
    let planned: Vec<serde_json::Value> = serde_json::from_str(&planned).expect("a JSON list");
    let planned: Vec<&str> =
        planned.iter().map(|case| case["full_id"].as_str().expect("an id")).collect();
    assert_eq!(listed, planned);
    assert_eq!(listed.len(), 12);

    // One selected case is prepared, and nothing for the others: the enormous ones would not fit,
    // and would have an outcome.
    lab.bench(&["--exact", &id("int8wo")]);
    let only = records(&lab.path("criterion-torch/new/inference.jsonl"));
    assert_eq!(statuses(&only), [(id("int8wo"), "measured".to_owned())]);

    // Everything, saved as a baseline: what cannot run is written down.
    let printed = lab.bench(&["--save-baseline", "main"]);
    assert!(printed.contains("time:"), "criterion's own output: {printed}");
    let all = records(&lab.path("criterion-torch/main/inference.jsonl"));
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

    check_csv(&lab.report(&["csv", "--baseline", "main"]), &expected);
    check_dashboard(&lab.report(&["dashboard", "--baseline", "main"]));

    // Against the saved baseline: the skipped and the enormous cases have none, and stop nothing.
    let compared = lab.bench(&["--baseline", "main", "16x64x32"]);
    assert!(compared.contains("change:"), "{compared}");
    assert_eq!(records(&lab.path("criterion-torch/main/inference.jsonl")), all, "left alone");

    // As tests, all that can run does.
    lab.bench(&["--test", "bf16-16x64x32"]);
}

fn records(file: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
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
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let column = |name: &str| header.iter().position(|it| *it == name).expect("a known column");
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), expected.len());
    assert_eq!(header[..3], ["name", "quantization", "sparsity"]);
    let int8wo = rows.iter().find(|row| row.contains(&id("int8wo").as_str())).expect("a row");
    let number = |name: &str| int8wo[column(name)].parse::<f64>().expect("a number");
    let (low, speedup, high) = (number("speedup_low"), number("speedup"), number("speedup_high"));
    assert!(0.0 < low && low <= speedup && speedup <= high, "{low} {speedup} {high}");
    assert!(number("pair_blocks") >= 8.0 && number("latency_calls") >= 5.0);
    let skipped = rows.iter().find(|row| row.contains(&"skipped")).expect("a row");
    assert_eq!(skipped[column("model_inference_time_in_ms")], "", "absent is empty, not zero");
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

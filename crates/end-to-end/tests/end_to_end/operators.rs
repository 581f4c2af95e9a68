//! Operators: to records with gates, to speed-ups and shares of the limit, to what upstream's scripts
//! read.

use std::collections::BTreeMap;

use plan::{Outcome, Record};
use serde_json::Value;

use crate::workspace::{TestWorkspace, assert_near};

/// Upstream's record.
const UPSTREAMS_KEYS: [&str; 10] = [
    "operation",
    "implementation",
    "batch_size",
    "sequence_length",
    "tensor_dimension",
    "time_ms",
    "memory_mb",
    "inference_speed",
    "gpu_efficiency",
    "throughput_gbps",
];

/// Bytes that have to move, by hand, with n elements in rows of d: 4(2n), 4(2n + 2d), 4(2n + 1); in
/// bfloat16 2(2n).
const BYTES: [(&str, u64); 4] =
    [("gelu", 8_448), ("layer_norm", 8_712), ("mse_loss", 8_452), ("silu", 4_096)];

/// One test, because each step stands on the one before.
#[test]
fn from_yaml_to_shares_of_the_limit() {
    let workspace = TestWorkspace::new();
    let listed = workspace.listed("operators", "functions");
    assert_eq!(listed, workspace.planned("operators/functions.yml"));

    workspace.bench("operators", &["--save-baseline", "before", "^operators/functions/"]);
    let records: BTreeMap<String, Record> = workspace
        .records::<Record>("before", "operators")
        .into_iter()
        .map(|record| (record.full_id.clone(), record))
        .collect();
    assert_eq!(records.len(), listed.len());
    let text = workspace.report(&["operators", "--format", "json", "--baseline", "before"]);
    let results: Vec<Value> = serde_json::from_str(&text).expect("strict JSON");
    assert_eq!(results.len(), listed.len(), "what is skipped is there, too");
    for result in &results {
        let record = &records[result["full_id"].as_str().expect("an id")];
        match &record.outcome {
            Outcome::Skipped { reason } => skipped(record, reason, result),
            Outcome::Measured => measured(&workspace, &records, record, result),
            other => panic!("{}: {other:?}", record.full_id),
        }
    }

    let compatible = workspace.report(&[
        "operators",
        "--format",
        "json",
        "--upstream-compat",
        "--baseline",
        "before",
    ]);
    let compatible: Vec<Value> = serde_json::from_str(&compatible).expect("strict JSON");
    assert!(compatible.iter().all(|result| result["time_ms"].is_f64()));
    assert!(compatible.iter().all(|result| result["variant"] != "stream"));
    let table = workspace.report(&["operators", "--baseline", "before"]);
    for text in ["of limit", "2x16x33", "skipped", "summary of functions"] {
        assert!(table.contains(text), "{text}: {table}");
    }
}

/// More elements than the config allows.
fn skipped(record: &Record, reason: &str, result: &Value) {
    assert!(record.full_id.ends_with("bf16-2x16x64"), "{}", record.full_id);
    assert!(reason.contains("2048 elements, and max_elements is 1024"), "{reason}");
    assert_eq!(result["outcome"], "skipped");
    assert_eq!(result["reason"], reason);
    for key in ["time_ms", "memory_mb", "inference_speed", "gpu_efficiency", "throughput_gbps"] {
        assert_eq!(result[key], Value::Null, "{key}");
    }
}

/// Times are criterion's, bytes are the formula's, the limit is the sibling's, from pairs.
fn measured(
    workspace: &TestWorkspace,
    records: &BTreeMap<String, Record>,
    record: &Record,
    result: &Value,
) {
    let keys: Vec<&str> =
        result.as_object().expect("an object").keys().map(String::as_str).take(10).collect();
    assert!(UPSTREAMS_KEYS.iter().all(|key| result.get(key).is_some()), "{keys:?}");
    let median_ns = workspace.median_ns(&record.case, "before").expect("it was measured");
    let work = record.case.work.operator().expect("an operator");
    let (_, bytes) =
        BYTES.iter().find(|(name, _)| *name == work.operator.as_str()).expect("in the config");
    assert_eq!(result["operation"], work.operator.upstream());
    assert_eq!(result["implementation"], work.implementation.upstream());
    assert_near(&result["time_ms"], median_ns / 1e6);
    assert_near(&result["inference_speed"], 1e9 / median_ns);
    assert_near(&result["throughput_gbps"], *bytes as f64 / median_ns);
    let memory = record.measures.memory.expect("counted");
    assert_near(&result["memory_mb"], memory.peak_bytes() as f64 / f64::from(1 << 20));

    let stream = record.case.id.variant == "stream";
    let accuracy = record.accuracy.as_ref().expect("checked");
    assert_eq!(accuracy.gates.is_empty(), stream, "{}", record.full_id);
    assert!(accuracy.gates.iter().all(|gate| gate.worst.0 <= 1.0));
    let limit = &records[&record.full_id.replace(&record.case.id.variant, "stream")];
    let time =
        |record: &Record| workspace.median_ns(&record.case, "before").expect("it was measured");
    if !stream {
        assert_eq!(result["efficiency_source"], "stream", "{}", record.full_id);
        // On a busy machine a pair may rightly be refused, and then times say it.
        let share = match [over_aten(record), over_aten(limit)] {
            [Some(own), Some(limit)] => own / limit,
            _ => time(limit) / time(record),
        };
        assert_near(&result["gpu_efficiency"], 100.0 * share);
    }
}

/// The speed-up over `aten`, which has none of its own.
fn over_aten(record: &Record) -> Option<f64> {
    let aten = record.case.id.variant == "aten";
    if aten { Some(1.0) } else { record.pairs.first().map(|pair| pair.speedup) }
}

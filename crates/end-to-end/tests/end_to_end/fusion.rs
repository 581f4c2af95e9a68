//! Patterns: to records, to speed-ups, to a saved baseline.

use std::collections::{BTreeMap, BTreeSet};

use plan::{Outcome, Record};
use serde_json::{Value, json};

use crate::workspace::{TestWorkspace, assert_near};

/// A candidate of the config, with what upstream's formulas give for it, by hand.
struct Candidate {
    pattern: &'static str,
    variant: &'static str,
    parameter: &'static str,
    /// Floating-point operations of either side.
    flops: u64,
    unfused_bytes: u64,
    /// None where upstream has no such variant.
    fused_bytes: Option<u64>,
    /// None of one that is refused.
    kernels: &'static [&'static str],
}

const CANDIDATES: [Candidate; 7] = [
    // 2mkn + mn; mk + nk + 5mn + n and mk + nk + n + mn elements.
    Candidate {
        pattern: "linear_bias_relu",
        variant: "fused",
        parameter: "f32-16x64x32",
        flops: 66_048,
        unfused_bytes: 22_656,
        fused_bytes: Some(14_464),
        kernels: &["aten::addmm", "aten::relu_"],
    },
    Candidate {
        pattern: "linear_bias_relu",
        variant: "torchscript",
        parameter: "f32-16x64x32",
        flops: 66_048,
        unfused_bytes: 22_656,
        fused_bytes: Some(14_464),
        kernels: &[],
    },
    Candidate {
        pattern: "linear_bias_relu",
        variant: "fused",
        parameter: "f32-8x32x16",
        flops: 8_320,
        unfused_bytes: 5_696,
        fused_bytes: Some(3_648),
        kernels: &["aten::addmm", "aten::relu_"],
    },
    Candidate {
        pattern: "linear_bias_relu",
        variant: "torchscript",
        parameter: "f32-8x32x16",
        flops: 8_320,
        unfused_bytes: 5_696,
        fused_bytes: Some(3_648),
        kernels: &[],
    },
    // 2·3²·i·o·s²·b; x + w + o + 3y and x + w + o + y elements.
    Candidate {
        pattern: "conv2d_relu",
        variant: "fused",
        parameter: "f32-1x4x8x10",
        flops: 57_600,
        unfused_bytes: 12_384,
        fused_bytes: Some(5_984),
        kernels: &["mkldnn::_convolution_pointwise"],
    },
    Candidate {
        pattern: "conv2d_relu",
        variant: "inplace",
        parameter: "f32-1x4x8x10",
        flops: 57_600,
        unfused_bytes: 12_384,
        fused_bytes: None,
        kernels: &["aten::conv2d", "aten::relu_"],
    },
    // b(4s²d + 6s²); 4bsd + 3bs² and 4bsd elements.
    Candidate {
        pattern: "full_attention",
        variant: "fused",
        parameter: "f32-1x16x8",
        flops: 9_728,
        unfused_bytes: 5_120,
        fused_bytes: Some(2_048),
        kernels: &["aten::_scaled_dot_product_flash_attention_for_cpu"],
    },
];

impl Candidate {
    /// Criterion's id of it, or of another variant in its place.
    fn id(&self, variant: &str) -> String {
        let Self { pattern, parameter, .. } = self;
        format!("fusion/patterns/{pattern}/cpu/{variant}/{parameter}")
    }
}

/// Upstream's dictionary.
const UPSTREAMS_KEYS: [&str; 15] = [
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

/// One test, because each step stands on the one before.
#[test]
fn from_yaml_to_speedups() {
    let workspace = TestWorkspace::new();
    let listed = workspace.listed("fusion", "patterns");
    assert_eq!(listed, workspace.planned("fusion/patterns.yml"));
    fused_alone(&workspace);

    // Everything, saved as a baseline: what is refused is written down, with its reason.
    workspace.quiet_bench("fusion", "before", &["--save-baseline", "before", "^fusion/patterns/"]);
    let records = by_id(workspace.records("before", "fusion"));
    assert!(records.keys().eq(listed.iter().collect::<BTreeSet<_>>()));
    let text = workspace.report(&["fusion", "--format", "json", "--baseline", "before"]);
    let document: Value = serde_json::from_str(&text).expect("strict JSON");
    let results = document["results"].as_array().expect("a list");
    assert_eq!(document["baseline"], "before");
    assert_eq!(document["missing"], json!([]));
    assert_eq!(results.len(), CANDIDATES.len(), "every size of every variant: {text}");
    for (candidate, result) in CANDIDATES.iter().zip(results) {
        formulas(candidate, result);
        match candidate.kernels {
            [] => refused(&records, result),
            kernels => measured(&workspace, &records, result, kernels),
        }
    }
    strategy(&document);

    // Against the saved baseline, which stays as it is.
    let compared = workspace.bench("fusion", &["--baseline", "before", "/fused/f32-16x64x32"]);
    assert!(compared.contains("change:"), "{compared}");
    let again = workspace.report(&["fusion", "--format", "json", "--baseline", "before"]);
    assert_eq!(again, text, "left alone");
    let table = workspace.report(&["fusion"]);
    assert!(table.contains("torchscript  unsupported"), "{table}");
}

/// Without the unfused operations among what is selected, they run for the pairs alone.
fn fused_alone(workspace: &TestWorkspace) {
    workspace.quiet_bench("fusion", "new", &["^fusion/patterns/.*/fused/"]);
    let fused: Vec<Record> = workspace.records("new", "fusion");
    let ids: Vec<&str> = fused.iter().map(|record| record.full_id.as_str()).collect();
    let expected: Vec<&Candidate> =
        CANDIDATES.iter().filter(|candidate| candidate.variant == "fused").collect();
    assert_eq!(ids, expected.iter().map(|candidate| candidate.id("fused")).collect::<Vec<_>>());
    for (record, candidate) in fused.iter().zip(expected) {
        let [pair] = &record.pairs[..] else { panic!("{:?}", record.no_pair) };
        assert_eq!(pair.against, candidate.id("unfused"));
        let mut unfused = record.case.clone();
        unfused.id.variant = "unfused".to_owned();
        assert_eq!(workspace.median_ns(&unfused, "new"), None, "criterion has not seen it");
    }
    let text = workspace.report(&["fusion", "--format", "json"]);
    let document: Value = serde_json::from_str(&text).expect("strict JSON");
    for result in document["results"].as_array().expect("a list") {
        assert!(result["speedup_factor"].is_f64() && result["fused_latency_ms"].is_f64());
        assert_eq!(result["unfused_latency_ms"], Value::Null, "no time without a measurement");
        assert_eq!(result["unfused_reason"], "it has no record");
    }
}

fn by_id(records: Vec<Record>) -> BTreeMap<String, Record> {
    records.into_iter().map(|record| (record.full_id.clone(), record)).collect()
}

/// The results that can be computed without a run.
fn formulas(candidate: &Candidate, result: &Value) {
    assert_eq!(result["full_id"], candidate.id(candidate.variant));
    for key in UPSTREAMS_KEYS {
        assert!(result.get(key).is_some(), "{key}");
    }
    let Candidate { flops, unfused_bytes, fused_bytes, .. } = *candidate;
    assert_eq!(result["flops"], flops);
    assert_eq!(result["unfused_bytes"], unfused_bytes);
    assert_eq!(result["fused_bytes"], json!(fused_bytes));
    match fused_bytes {
        Some(fused) => {
            assert_near(&result["memory_reduction"], 1.0 - fused as f64 / unfused_bytes as f64)
        }
        None => assert_eq!(result["memory_reduction"], Value::Null),
    }
}

/// TorchScript on the CPU: no time and no speed-up, but a reason.
fn refused(records: &BTreeMap<String, Record>, result: &Value) {
    let record = &records[result["full_id"].as_str().expect("an id")];
    let Outcome::Unsupported { reason } = &record.outcome else { panic!("{:?}", record.outcome) };
    assert!(reason.contains("the same operations as `unfused`"), "{reason}");
    assert_eq!((&result["outcome"], &result["reason"]), (&json!("unsupported"), &json!(reason)));
    assert_eq!(result["no_speedup_reason"], "it is not measured");
    for key in ["fused_latency_ms", "fused_gflops", "speedup_factor", "fused_peak_allocation_bytes"]
    {
        assert_eq!(result[key], Value::Null, "{key}");
    }
}

/// Times are criterion's, the speed-up is the pair's, the rest is the records'.
fn measured(
    workspace: &TestWorkspace,
    records: &BTreeMap<String, Record>,
    result: &Value,
    kernels: &[&str],
) {
    let fused = &records[result["full_id"].as_str().expect("an id")];
    let [pair] = &fused.pairs[..] else { panic!("{:?}", fused.no_pair) };
    let unfused = &records[&pair.against];
    for (side, record) in [("unfused", unfused), ("fused", fused)] {
        assert_eq!(record.outcome, Outcome::Measured, "{}", record.full_id);
        let value = |name: &str| &result[format!("{side}_{name}")];
        let median_ns = workspace.median_ns(&record.case, "before").expect("it was measured");
        assert_near(value("latency_ms"), median_ns / 1e6);
        assert_near(value("gflops"), result["flops"].as_f64().expect("a number") / median_ns);
        let step = record.measures.memory.expect("counted").step;
        assert_eq!(value("peak_allocation_bytes"), step.peak_bytes);
        assert_eq!(value("total_allocation_bytes"), step.total_bytes);
        assert_eq!(*value("kernels"), json!(record.kernels));
        let accuracy = record.accuracy.as_ref().expect("checked");
        assert_near(&value("accuracy")["sqnr_db"], accuracy.sqnr_db.0);
    }
    assert_eq!(fused.kernels, kernels);
    assert_near(&result["speedup_factor"], pair.speedup);
    assert_near(&result["speedup_low"], pair.low);
    assert_near(&result["speedup_high"], pair.high);
    assert_near(&result["gflops_improvement"], pair.speedup - 1.0);
    assert_eq!(result["blocks"], pair.log_ratios.len());
    assert!(pair.low <= pair.speedup && pair.speedup <= pair.high);
}

/// One entry per pattern; only what runs fewer operations has a say.
fn strategy(document: &Value) {
    let strategy = document["strategy"].as_array().expect("a list");
    let best: Vec<(&Value, &Value)> =
        strategy.iter().map(|it| (&it["fusion_pattern"], &it["best_variant"])).collect();
    let (linear, conv, attention) =
        (json!("Linear_Bias_ReLU"), json!("Conv2d_ReLU"), json!("FullAttention_SDPA"));
    let fused = json!("fused");
    assert_eq!(best, [(&linear, &fused), (&conv, &fused), (&attention, &fused)]);
    let variants = &strategy[0]["variants"];
    assert_eq!((&variants[0]["cases"], &variants[0]["cases_with_speedup"]), (&json!(2), &json!(2)));
    assert_eq!((&variants[1]["cases"], &variants[1]["cases_with_speedup"]), (&json!(2), &json!(0)));
}

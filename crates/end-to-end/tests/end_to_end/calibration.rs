//! Probes and patterns: to records, to the profile of this machine.

use std::collections::{BTreeMap, BTreeSet};

use plan::{Outcome, Record};
use serde_json::{Map, Value, json};

use crate::workspace::{TestWorkspace, assert_near};

/// The work of one step of an operation, counted by hand.
struct Step {
    word: &'static str,
    size: &'static str,
    /// Floating-point operations.
    flops: u64,
    /// Read and written.
    bytes: u64,
}

/// Arrays of 4 KiB are gone over until that makes 512 MiB, 2²⁷ elements.
const STEPS: [Step; 4] = [
    Step { word: "matmul", size: "16", flops: 2 * 16 * 16 * 16, bytes: 3 * 16 * 16 * 4 },
    Step { word: "matmul", size: "32", flops: 2 * 32 * 32 * 32, bytes: 3 * 32 * 32 * 4 },
    Step { word: "copy", size: "4KiB", flops: 0, bytes: 2 << 29 },
    Step { word: "triad", size: "4KiB", flops: 2 << 27, bytes: 3 << 29 },
];

impl Step {
    /// Products run on one thread and on all, the others on one.
    fn threads(&self) -> BTreeSet<usize> {
        if self.word == "matmul" { threads() } else { BTreeSet::from([1]) }
    }

    fn key(&self, threads: usize) -> String {
        let Self { word, size, .. } = self;
        format!("{word}_device=cpu_dtype=float32_size={size}_threads={threads}")
    }
}

/// One test, because each step stands on the one before.
#[test]
fn from_yaml_to_a_profile() {
    let workspace = TestWorkspace::new();
    let listed = workspace.listed("calibration", "machine");
    assert_eq!(listed, workspace.planned("calibration/machine.yml"));
    workspace.bench("calibration", &["^calibration/machine/"]);
    workspace.quiet_bench("fusion", "new", &["^fusion/patterns/.*linear_bias_relu"]);
    let probes: Vec<Record> = workspace.records("new", "calibration");
    assert_eq!(probes.iter().map(|it| &it.full_id).collect::<Vec<_>>(), Vec::from_iter(&listed));
    let patterns: Vec<Record> = workspace.records("new", "fusion");

    let file = workspace.path("profile.json");
    let file = file.to_str().expect("UTF-8");
    let summary = workspace.report(&["calibration", "--hardware", "test", "--output", file]);
    assert_eq!(
        workspace.report(&["calibration", "--load", file]),
        summary,
        "nothing is lost in it"
    );
    let profile = std::fs::read_to_string(file).expect("readable");
    let profile: Map<String, Value> = serde_json::from_str(&profile).expect("strict JSON");

    head(&profile, &probes);
    operations(&workspace, &profile["operation_profiles"], &probes);
    products(&profile);
    calls(&workspace, &profile["call_overheads"], &probes);
    refused(&profile, &probes);
    fusions(&workspace, &profile["fusion_profiles"], &patterns);
    let runs: BTreeSet<&String> = probes.iter().chain(&patterns).map(|it| &it.run_id).collect();
    assert_eq!((runs.len(), &profile["run_ids"]), (2, &json!(runs)));
}

/// One thread, and as many as there are CPUs, which may be the same.
fn threads() -> BTreeSet<usize> {
    BTreeSet::from([1, std::thread::available_parallelism().map_or(1, std::num::NonZero::get)])
}

fn head(profile: &Map<String, Value>, probes: &[Record]) {
    let metadata = &profile["metadata"];
    let environment = &probes[0].environment;
    assert_eq!(metadata["hardware_name"], "test");
    assert_eq!(metadata["cpu_model"], environment.host.cpu_model.as_str());
    assert_eq!(metadata["cpu_count"], environment.host.cpus);
    assert_eq!(metadata["pytorch_version"], environment.torch.libtorch.as_str());
    assert_eq!(metadata["num_measurement_runs"], 10);
    assert_eq!(profile["schema"], "criterion-torch/calibration");
    assert_eq!(profile["version"], 1);
}

/// Every operation at every size and number of threads, at criterion's median.
fn operations(workspace: &TestWorkspace, profiles: &Value, probes: &[Record]) {
    let profiles = profiles.as_object().expect("an object");
    let expected: BTreeMap<String, &Step> = STEPS
        .iter()
        .flat_map(|step| step.threads().into_iter().map(move |it| (step.key(it), step)))
        .collect();
    assert!(profiles.keys().eq(expected.keys()), "{:?}", profiles.keys());
    for (key, profile) in profiles {
        let Step { word, flops, bytes, .. } = *expected[key];
        let extra = &profile["extra_params"];
        let record = probes.iter().find(|record| extra["full_id"] == record.full_id.as_str());
        let record = record.expect("what it was made of");
        assert_eq!(record.outcome, Outcome::Measured, "{key}");
        assert!(key.ends_with(&format!("_threads={}", record.environment.torch.threads)), "{key}");
        assert_eq!(extra["threads"], record.environment.torch.threads);
        assert_eq!(extra["implementation"], record.kernels.join(", "));
        assert_eq!(profile["operation_type"], word);
        let median_ns = workspace.median_ns(&record.case, "new").expect("it was measured");
        assert_near(&extra["median_latency_ms"], median_ns / 1e6);
        assert_near(&profile["measured_gflops"], flops as f64 / median_ns);
        assert_near(&profile["achieved_bandwidth_gbps"], bytes as f64 / median_ns);
        assert_near(&profile["arithmetic_intensity"], flops as f64 / bytes as f64);
    }
}

/// The headline is of the products on the most threads, and of nothing else.
fn products(profile: &Map<String, Value>) {
    let most = threads().into_iter().max().expect("there is one");
    let gflops = [0, 1].map(|product| {
        let profile = &profile["operation_profiles"][STEPS[product].key(most)];
        profile["measured_gflops"].as_f64().expect("a number")
    });
    assert_near(&profile["best_measured_gflops"], gflops[0].max(gflops[1]));
    assert_near(&profile["worst_measured_gflops"], gflops[0].min(gflops[1]));
    assert_near(&profile["theoretical_peak_gflops"], gflops[0].max(gflops[1]));
    assert_eq!(profile["peak_source"]["gflops"], "measured");
}

/// On the host the call is the whole step: nothing is queued.
fn calls(workspace: &TestWorkspace, overheads: &Value, probes: &[Record]) {
    let [call] = &overheads.as_array().expect("a list")[..] else { panic!("{overheads}") };
    let record = probes.iter().find(|record| call["full_id"] == record.full_id.as_str());
    let record = record.expect("what it was made of");
    let median_ns = workspace.median_ns(&record.case, "new").expect("it was measured");
    assert_near(&call["median_ns"], median_ns);
    assert_eq!((&call["probe"], &call["device"]), (&json!("call"), &json!("cpu")));
    assert_eq!((&call["threads"], &call["queue_ns"]), (&json!(1), &Value::Null));
}

/// Starting a kernel on the CPU has no time, and a note says why.
fn refused(profile: &Map<String, Value>, probes: &[Record]) {
    let unmeasured: Vec<&Record> =
        probes.iter().filter(|record| record.outcome != Outcome::Measured).collect();
    assert!(unmeasured.iter().all(|record| record.case.id.group.contains("/launch/")));
    let [Some(reason), Some(_)] = [0, 1].map(|it| unmeasured.get(it)?.outcome.reason()) else {
        panic!("{unmeasured:?}")
    };
    assert!(reason.contains("starts no kernels"), "{reason}");
    assert_eq!(profile.get("launch_latencies"), None);
    let notes = profile["notes"].as_array().expect("a list");
    assert!(notes.iter().filter_map(Value::as_str).any(|note| note.contains(reason)), "{notes:?}");
}

/// Both sizes of the variant that runs, and under the pattern's name as upstream looks it up; none of the
/// variant that is refused.
fn fusions(workspace: &TestWorkspace, profiles: &Value, patterns: &[Record]) {
    let profiles = profiles.as_object().expect("an object");
    let keys = ["16x64x32", "8x32x16"].map(|size| {
        format!("Linear_Bias_ReLU_device=cpu_dtype=float32_shape={size}_threads=1_variant=fused")
    });
    let names = [&["Linear_Bias_ReLU".to_owned()], &keys[..]].concat();
    assert_eq!(profiles.keys().collect::<Vec<_>>(), names.iter().collect::<Vec<_>>());
    for profile in profiles.values() {
        let record = |id: &str| {
            patterns.iter().find(|record| record.full_id == id).expect("what it was made of")
        };
        let fused = record(profile["extra_params"]["full_id"].as_str().expect("an id"));
        let [pair] = &fused.pairs[..] else { panic!("{:?}", fused.no_pair) };
        assert_near(&profile["speedup_factor"], pair.speedup);
        assert_eq!(profile["num_trials"], pair.log_ratios.len());
        assert_eq!(profile["operators"], json!(["mm", "add", "relu"]));
        for (side, of) in [("fused", fused), ("unfused", record(&pair.against))] {
            let median_ns = workspace.median_ns(&of.case, "new").expect("it was measured");
            assert_near(&profile[format!("{side}_latency_ms")], median_ns / 1e6);
        }
    }
}

//! Proofs of rows about GPUs. On a machine without a GPU they check only that libtorch was asked, and the reason that
//! it gave.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::workspace::TestWorkspace;

/// The records of `configs/inference/gpu.yml`, measured once for all rows.
fn records() -> &'static [Value] {
    static RECORDS: OnceLock<Vec<Value>> = OnceLock::new();
    RECORDS.get_or_init(|| {
        let workspace = TestWorkspace::new();
        drop(workspace.bench("inference", &["--save-baseline", "main", "^inference/gpu/"]));
        workspace.records("main", "inference")
    })
}

/// The records of a device, with their variants.
fn of_device(device: &str) -> Vec<(&'static str, &'static Value)> {
    let of = |record: &&Value| record["case"]["device"] == device;
    let variant = |record: &'static Value| {
        (record["case"]["id"]["variant"].as_str().expect("a variant"), record)
    };
    records().iter().filter(of).map(variant).collect()
}

/// Why a case was not measured; it is skipped where libtorch has no such device.
fn skipped<'r>(record: &'r Value, device: &str) -> &'r str {
    assert_eq!(record["outcome"]["status"], "skipped", "{record}");
    let reason = record["outcome"]["reason"].as_str().expect("a reason");
    assert!(reason.starts_with(&format!("{device}: ")), "{reason}");
    reason
}

/// The records of `configs/fusion/gpu.yml` that were measured: all of them, or none with libtorch's reason.
pub fn measured_patterns() -> Vec<&'static Value> {
    static RECORDS: OnceLock<Vec<Value>> = OnceLock::new();
    let records = RECORDS.get_or_init(|| {
        let workspace = TestWorkspace::new();
        drop(workspace.bench("fusion", &["^fusion/gpu/"]));
        workspace.records("new", "fusion")
    });
    // A pattern of each family, unfused and fused.
    assert_eq!(records.len(), 3 * 2, "{records:?}");
    let is_measured = |record: &&Value| record["outcome"]["status"] == "measured";
    let (measured, others): (Vec<_>, Vec<_>) = records.iter().partition(is_measured);
    for record in &others {
        let reason = skipped(record, "cuda");
        assert!(reason.contains("libtorch"), "{reason}");
    }
    assert!(measured.is_empty() || others.is_empty(), "{others:?}");
    measured
}

/// For the row of `max-autotune` on CUDA.
pub fn modes_with_cuda_graphs_are_measured_where_there_is_a_gpu() {
    let found = of_device("cuda");
    let variants: Vec<&str> = found.iter().map(|(variant, _)| *variant).collect();
    let expected = ["baseline", "int8wo"].map(|recipe| {
        ["", "+reduce-overhead", "+max-autotune"].map(|mode| format!("{recipe}{mode}"))
    });
    assert_eq!(variants, expected.concat());
    for (variant, record) in found {
        if record["outcome"]["status"] != "measured" {
            let reason = skipped(record, "cuda");
            assert!(reason.contains("CUDA") && !reason.contains("graph"), "{reason}");
            continue;
        }
        let graph = &record["compilation"]["cuda_graph"];
        assert_eq!(graph["pool_bytes"].is_u64(), variant.contains('+'), "{variant}: {record}");
    }
}

#[test]
pub fn mps_and_xpu_are_asked_of_libtorch() {
    for (device, hook) in [("mps", "Metal"), ("xpu", "Intel GPUs")] {
        let found = of_device(device);
        assert_eq!(found.len(), 2, "{found:?}");
        for (_, record) in found {
            match record["outcome"]["status"].as_str() {
                Some("measured") if device == "mps" => {}
                Some("unsupported") if device == "xpu" => {}
                _ => assert!(skipped(record, device).contains(hook), "{record}"),
            }
        }
    }
}

/// A fake profiler library that attaches like Nsight Systems' own.
fn profiler(folder: &Path) -> std::path::PathBuf {
    let library = folder.join("libfake_nvtx.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../native/tests/fake_nvtx.cpp");
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "g++".into());
    let mut compile = Command::new(compiler);
    compile.args(["-std=c++17", "-shared", "-fPIC", "-o"]).arg(&library).arg(source);
    assert!(compile.status().expect("the C++ compiler starts").success());
    library
}

/// Run by the row about Nsight.
pub fn nsight_is_told_of_every_part_and_of_nothing_inside_a_timed_sample() {
    let folder = tempfile::tempdir().expect("a folder");
    let workspace = TestWorkspace::new()
        .with_value("NVTX_INJECTION64_PATH", profiler(folder.path()))
        .with_path("FAKE_NVTX_LOG", "ranges");
    let filter = "^inference/tiny/linear/cpu/(baseline|int8wo)/bf16-16x64x32$";
    drop(workspace.bench("inference", &["--save-baseline", "main", filter]));
    let ranges = std::fs::read_to_string(workspace.path("ranges")).expect("a profiler was told");

    let (mut open, mut names) = (Vec::<&str>::new(), Vec::<&str>::new());
    for line in ranges.lines() {
        let (what, rest) = line.split_once(' ').expect("what and depth");
        let (depth, name) = rest.split_once(' ').expect("depth and name");
        if what == "pop" {
            open.pop().expect("it was open");
        }
        assert_eq!(depth.parse::<usize>(), Ok(open.len()), "{line}");
        if what == "push" {
            let around = open.last().copied().unwrap_or_default();
            let is_fine =
                if name == "step" { around.ends_with(": latency") } else { around.is_empty() };
            assert!(is_fine, "{name} inside {around}");
            open.push(name);
            names.push(name);
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
    assert!(names.iter().filter(|name| **name == "step").count() >= 10);
    let id = |variant: &str| format!("inference/tiny/linear/cpu/{variant}/bf16-16x64x32");
    for variant in ["baseline", "int8wo"] {
        for part in ["check", "memory", "warm-up", "sampling", "latency", "counters", "energy"] {
            let name = format!("{}: {part}", id(variant));
            assert!(names.contains(&name.as_str()), "no {name} in {names:?}");
        }
    }
    assert!(names.contains(&format!("{}: pair", id("int8wo")).as_str()));

    let records: Vec<Value> = workspace.records("main", "inference");
    for record in &records {
        let notes = record["notes"].to_string();
        assert!(notes.contains("measured under a profiler (NVTX_INJECTION64_PATH)"), "{notes}");
    }
}

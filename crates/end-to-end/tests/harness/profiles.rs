//! Cases are profiled after the run, in separate processes; a case that kills its process loses only its own profile.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use criterion_torch::refusal::Refusal;
use criterion_torch::workload::Workload;
use plan::{Accuracy, Case, OperationProfile, Profile, ProfileFileKind, Record};
use serde_json::Value;
use tch::{Device, Kind, Tensor};

use crate::program::{self, Run, Suite, rows_of};

pub const SUITE: Suite = Suite {
    target: "profiles",
    configs: &[("flag.yml", BY_FLAG), ("asks.yml", BY_CONFIG)],
    prepare,
};

/// The number of a case's rows determines what it does in the profiling process.
const FINE: u64 = 4;
const ABORTS: u64 = 5;
const PANICS: u64 = 6;
const ASKS: u64 = 7;
const ABORTS_IN_A_STEP: u64 = 8;
const K: i64 = 8;
const N: i64 = 6;

const BY_FLAG: &str = "
energy: false
sampling: { samples: 10, warm_up_s: 0.01, measurement_s: 0.02 }
model_params:
  name: layer
  matrix_shapes:
    - name: custom
      shapes: [[4, 8, 6], [5, 8, 6], [6, 8, 6], [8, 8, 6]]
";

const BY_CONFIG: &str = "
energy: false
allocator: system
sampling: { samples: 10, warm_up_s: 0.01, measurement_s: 0.02 }
model_params:
  name: layer
  enable_profiler: true
  matrix_shapes:
    - name: custom
      shapes: [[7, 8, 6]]
";

/// A linear layer with an activation.
struct Layer {
    x: Tensor,
    weight: Tensor,
    /// The process ends in the first step that begins while something in this folder is not finished.
    aborts_in: Option<PathBuf>,
}

fn prepare(case: &Case) -> Result<Box<dyn Workload>, Refusal> {
    program::note(case);
    let is_profiled = std::env::var_os("CRITERION_TORCH_PROFILES_FOR").is_some();
    let rows = rows_of(case);
    match rows {
        ABORTS if is_profiled => std::process::abort(),
        PANICS if is_profiled => panic!("badly prepared for its profile"),
        _ => {}
    }
    // Output of a case must not be taken for a message of its process.
    println!("prepared");
    let floats = (Kind::Float, Device::Cpu);
    let aborts_in = (is_profiled && rows == ABORTS_IN_A_STEP).then(|| {
        let criterion =
            PathBuf::from(std::env::var_os("CRITERION_HOME").expect("the parent sets it"));
        criterion.with_file_name("criterion-torch").join(folder_of(rows))
    });
    let rows = i64::try_from(rows).expect("few");
    let (x, weight) = (Tensor::ones([rows, K], floats), Tensor::ones([N, K], floats));
    Ok(Box::new(Layer { x, weight, aborts_in }))
}

/// The folder of a case's files, in that of the records.
fn folder_of(rows: u64) -> String {
    format!("profiles/inference_flag_linear_cpu/baseline/bf16-{rows}x{K}x{N}")
}

/// File names in a folder; empty without the folder.
fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return vec![] };
    let name = |entry: fs::DirEntry| entry.file_name().into_string().expect("UTF-8");
    entries.map(|entry| name(entry.expect("readable"))).collect()
}

impl Workload for Layer {
    fn step(&self) -> Result<Tensor, Refusal> {
        if let Some(folder) = &self.aborts_in
            && names(folder).iter().any(|name| name.contains(".partial-"))
        {
            std::process::abort();
        }
        Ok(self.x.f_linear(&self.weight, None::<Tensor>)?.f_gelu("none")?)
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        Ok(program::exact())
    }

    fn weights_bytes(&self) -> u64 {
        4 * (K * N).unsigned_abs()
    }

    fn inputs_bytes(&self) -> u64 {
        4 * self.x.numel() as u64
    }

    fn kernels(&self) -> Vec<String> {
        vec!["aten::linear".to_owned(), "aten::gelu".to_owned()]
    }
}

pub fn a_profile_is_in_the_record_and_what_dies_takes_nothing_with_it() {
    let run = SUITE.run(&["--profile=/bf16-[4568]x"]);
    let Run { home, status, said } = &run;
    assert_eq!(*status, Some(0), "a case that was measured is no failure: {said}");
    let records = SUITE.records(home.path(), "base", said);
    assert_eq!(records, run.records(&SUITE), "{said}");
    assert!(records.iter().all(|record| record.outcome.status() == "measured"), "{said}");
    // No memory is retained yet when the first case is profiled. The case that died is not tried again.
    let rows: Vec<String> = run.prepared().iter().map(|id| rows_in(id).to_string()).collect();
    assert_eq!(rows.join(" "), "7 4 5 6 8 7 4 5 6 8", "{said}");
    fine(home.path(), profile(&records, FINE));
    for (rows, why) in [
        (ABORTS, "signal: 6"),
        (PANICS, "badly prepared for its profile"),
        (ABORTS_IN_A_STEP, "signal: 6"),
    ] {
        let lost = profile(&records, rows);
        assert!(lost.files.is_empty() && lost.operations.is_empty() && lost.steps == 0);
        let absent: Vec<&str> = lost.absent.keys().map(String::as_str).collect();
        assert_eq!(absent, ["hardware", "memory", "operations"]);
        assert!(lost.absent.values().all(|reason| reason.contains(why)), "{:?}", lost.absent);
        let id = id(rows);
        assert!(said.contains(&format!("{id}: its profile has no operations: ")), "{said}");
        let left = names(&home.path().join("criterion-torch").join(folder_of(rows)));
        assert!(left.is_empty(), "no record names {left:?}");
    }
    let asks = profile(&records, ASKS);
    assert!(asks.steps >= 3 && asks.memory.is_none());
    assert!(asks.absent["memory"].contains("not asked for"), "{:?}", asks.absent);
    let written: BTreeSet<_> = asks.files.iter().map(|file| file.kind).collect();
    assert_eq!(written, BTreeSet::from([ProfileFileKind::Trace]));
    assert!(said.contains("profiling [1/5, "), "{said}");
    assert!(said.contains("profiles: 5 cases (3 with parts missing), "), "{said}");
}

/// A case with a complete profile, except for counters that the machine lacks.
fn fine(home: &Path, profile: &Profile) {
    let sum: f64 = profile.operations.iter().map(|it| it.self_ns).sum();
    assert!((sum + profile.outside_ns - profile.step_ns).abs() < 1e-3, "{profile:?}");
    let product = found(profile, "aten::mm");
    let rows = i64::try_from(FINE).expect("few");
    assert_eq!(product.shapes[..2], [vec![rows, K], vec![K, N]]);
    let flops = 2 * (rows * K * N).unsigned_abs();
    assert_eq!((product.flops, product.calls), (Some(flops), 1.0));
    assert!(found(profile, "aten::gelu").is_leaf && !found(profile, "aten::linear").is_leaf);
    assert_eq!(product.dtypes[..2], ["float32"; 2]);
    let output = 4 * (rows * N).unsigned_abs();
    let allocated: u64 = profile.operations.iter().map(|it| it.allocated_bytes).sum();
    assert_eq!(allocated, 2 * output, "{profile:?}");
    let memory = profile.memory.as_ref().expect("memory");
    assert_eq!(memory.peak_bytes, 2 * output, "{memory:?}");
    assert_eq!(profile.hardware.is_some(), !profile.absent.contains_key("hardware"));
    let folder = folder_of(FINE);
    let stem = "layer_4_8_6_quant_baseline_sparsity_None";
    for (kind, ending) in [
        (ProfileFileKind::Trace, "profile.json"),
        (ProfileFileKind::MemorySnapshot, "memory_profile.pickle"),
        (ProfileFileKind::MemoryTimeline, "memory_profile.svg"),
    ] {
        let file = profile.file(kind).unwrap_or_else(|| panic!("{kind:?}: {profile:?}"));
        assert_eq!(file.path, format!("{folder}/{stem}_{ending}"));
        let path = home.join("criterion-torch").join(&file.path);
        assert_eq!(fs::metadata(&path).expect("written").len(), file.bytes);
    }
    let files = names(&home.join("criterion-torch").join(&folder));
    assert_eq!(files.len(), 3, "nothing is left beside them: {files:?}");
    trace(&home.join(format!("criterion-torch/{folder}/{stem}_profile.json")), profile.steps);
}

/// Checks a Chrome trace like upstream's tests do.
fn trace(path: &Path, steps: u64) {
    let text = fs::read_to_string(path).expect("readable");
    let trace: Value = serde_json::from_str(&text).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    for key in ["name", "ph", "ts", "pid"] {
        assert!(!events[0][key].is_null(), "{key}: {}", events[0]);
    }
    let complete = |name: &str| {
        let named = |it: &&Value| it["ph"] == "X" && it["name"] == name;
        events.iter().filter(named).collect::<Vec<_>>()
    };
    assert_eq!(complete(&format!("ProfilerStep#{}", steps - 1)).len(), 1);
    assert!(complete(&format!("ProfilerStep#{steps}")).is_empty());
    let gelu = complete("aten::gelu");
    assert!(gelu.len() as u64 >= steps);
    assert_eq!(gelu[0]["args"]["Input Dims"][0], serde_json::json!([FINE, N]));
}

pub fn nothing_is_profiled_unless_asked_for() {
    let flag_alone: &[&str] = &["/flag/.*/bf16-4x"];
    let tested: &[&str] = &["--test", "--profile"];
    let other: &[&str] = &["--profile=no-such-case", "/flag/.*/bf16-4x"];
    for arguments in [flag_alone, tested, other] {
        let run = SUITE.run(arguments);
        let Run { home, status, said } = &run;
        assert_eq!(*status, Some(0), "{arguments:?}: {said}");
        assert!(!home.path().join("criterion-torch/profiles").exists(), "{arguments:?}");
        assert!(run.records(&SUITE).iter().all(|record| record.profile.is_none()));
        assert!(!said.contains("profiling") && !said.contains(" MB"), "{arguments:?}: {said}");
    }
}

/// The files of a case lie in one place, whatever its results are saved as: the record of the earlier profile no longer
/// matches them.
pub fn a_later_profile_replaces_all_files_of_an_earlier_one() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let run = |arguments: &[&str]| {
        let arguments = [arguments, &["/asks/"]].concat();
        let output = SUITE.command(home.path(), &arguments).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        said
    };
    let said = run(&["--save-baseline", "whole", "--profile"]);
    let whole = SUITE.records(home.path(), "whole", &said);
    let said = run(&["--save-baseline", "part"]);
    let part = SUITE.records(home.path(), "part", &said);
    let files = |records: &[Record]| profile(records, ASKS).files.clone();
    let (whole, part) = (files(&whole), files(&part));
    let [trace] = &part[..] else { panic!("the config asks for operations alone: {part:?}") };
    let path = home.path().join("criterion-torch").join(&trace.path);
    let content = fs::read(&path).expect("written");
    assert!(trace.has(&content));
    let older = whole.iter().find(|file| file.kind == ProfileFileKind::Trace).expect("a trace");
    assert!(older.path == trace.path && !older.has(&content), "{older:?}");
    assert_eq!(whole.len(), 3, "{whole:?}");
    let left = names(path.parent().expect("a folder"));
    assert_eq!(left.len(), 1, "the snapshot and the picture are gone: {left:?}");
}

pub fn results_that_are_not_kept_are_not_profiled() {
    let run = SUITE.run(&["--profile", "--discard-baseline", "/flag/.*/bf16-4x"]);
    assert_eq!(run.status, Some(0), "{}", run.said);
    assert!(run.said.contains("nothing is profiled: --discard-baseline"), "{}", run.said);
    assert!(!run.home.path().join("criterion-torch/profiles").exists());
}

/// As after a kill in the pass that profiles: everything is measured, and a part of the profiles is missing.
pub fn a_run_that_goes_on_makes_the_profiles_that_are_lacking() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let run = |arguments: &[&str]| {
        let arguments = [arguments, &["/flag/.*/bf16-4x|/asks/"]].concat();
        let output = SUITE.command(home.path(), &arguments).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        said
    };
    let records = |said: &str| {
        let [base, new] = ["base", "new"].map(|name| SUITE.records(home.path(), name, said));
        assert_eq!(base, new, "{said}");
        base
    };
    let before = records(&run(&["--quick"]));
    assert!(before[1].profile.is_none() ^ before[0].profile.is_none(), "a config asks for one");
    for (arguments, profiled) in [
        (&["--quick", "--resume"][..], None),
        // One lacks its profile, the other one what the config does not ask for.
        (&["--quick", "--resume", "--profile"], Some("profiles: 2 cases")),
        (&["--quick", "--resume", "--profile"], None),
    ] {
        let said = run(arguments);
        assert!(said.contains("2 of 2 cases were measured as `base`"), "{arguments:?}: {said}");
        assert!(profiled.map_or(!said.contains("profiling"), |it| said.contains(it)), "{said}");
        let after = records(&said);
        assert!(after.iter().zip(&before).all(|(after, before)| after.run_id == before.run_id));
    }
    fine(home.path(), profile(&records(""), FINE));
    let file = home.path().join("criterion-torch").join(&profile(&records(""), ASKS).files[0].path);
    fs::remove_file(&file).expect("removed");
    let said = run(&["--quick", "--resume", "--profile"]);
    assert!(said.contains("profiles: 1 case"), "{said}");
    assert!(file.is_file(), "{said}");
}

fn id(rows: u64) -> String {
    format!("inference/flag/linear/cpu/baseline/bf16-{rows}x8x6")
}

fn rows_in(id: &str) -> u64 {
    let (_, size) = id.rsplit_once('-').expect("dtype and size");
    let (rows, _) = size.split_once('x').expect("rows come first");
    rows.parse().expect("a number")
}

fn profile(records: &[Record], rows: u64) -> &Profile {
    let record = records.iter().find(|record| rows_of(&record.case) == rows).expect("a record");
    record.profile.as_ref().unwrap_or_else(|| panic!("{rows} rows: no profile"))
}

fn found<'p>(profile: &'p Profile, name: &str) -> &'p OperationProfile {
    let named = profile.operations.iter().find(|it| it.name == name);
    named.unwrap_or_else(|| panic!("no {name}: {profile:?}"))
}

//! A case that goes wrong is one written outcome, and the run goes on.

use std::path::{Path, PathBuf};
use std::process::Command;

use criterion_torch::refusal::Refusal;
use criterion_torch::workload::Workload;
use plan::{Accuracy, Case, Outcome, Record, RunManifest, Work};
use tch::{Device, Kind, TchError, Tensor};
use tempfile::TempDir;

use crate::program::{self, Suite, rows_of};
use crate::{adversity, lost_bias};

const CPU: (Kind, Device) = (Kind::Float, Device::Cpu);

pub const SUITE: Suite = Suite {
    target: "outcomes",
    configs: &[
        ("wrong.yml", CONFIG),
        ("bias.yml", lost_bias::CONFIG),
        ("slow.yml", adversity::CONFIG),
    ],
    prepare,
};

/// The fault of a case, chosen by the number of its rows.
struct Saboteur {
    rows: u64,
    steps: std::cell::Cell<u64>,
}

pub const FINE: u64 = 1;
const THROWS: u64 = 2;
const PANICS: u64 = 3;
const RUNS_OUT_OF_MEMORY: u64 = 4;
const THROWS_WHILE_TIMED: u64 = 5;
const PANICS_IN_PREPARE: u64 = 6;
const FAILS_ITS_CHECK: u64 = 7;
const IS_UNSUPPORTED: u64 = 8;
const ABORTS: u64 = 9;
/// The id of the one that goes well.
pub const FINE_ID: &str = "inference/wrong/linear/cpu/baseline/bf16-1x1x1";
/// Selects all of them but the one that takes the process with it.
pub const SURVIVABLE: &str = "/wrong/.*bf16-[1-8]x1x1";

impl Workload for Saboteur {
    fn step(&self) -> Result<Tensor, Refusal> {
        self.steps.set(self.steps.get() + 1);
        match self.rows {
            THROWS => Ok(Tensor::f_zeros([2, 3], CPU)?.f_mm(&Tensor::f_zeros([2, 3], CPU)?)?),
            PANICS => panic!("a step that panics"),
            ABORTS => std::process::abort(),
            RUNS_OUT_OF_MEMORY => Ok(Tensor::f_zeros([1 << 50], CPU)?),
            // The memory pass takes one step, so the fourth is inside criterion's loop.
            THROWS_WHILE_TIMED if self.steps.get() > 3 => {
                let text = "thrown while timed\nframe #0: somewhere".to_owned();
                Err(TchError::Torch(text).into())
            }
            _ => Ok(Tensor::f_ones([8], CPU)?),
        }
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        if self.rows == FAILS_ITS_CHECK {
            return Err(Refusal::Failed("SQNR 3.0 dB is below the gate of 35 dB".to_owned()));
        }
        Ok(program::exact())
    }

    fn weights_bytes(&self) -> u64 {
        0
    }

    fn inputs_bytes(&self) -> u64 {
        0
    }

    fn kernels(&self) -> Vec<String> {
        vec!["aten::ones".to_owned()]
    }
}

fn prepare(case: &Case) -> Result<Box<dyn Workload>, Refusal> {
    program::note(case);
    if let Work::Fusion(work) = &case.work {
        return lost_bias::prepare(case, work);
    }
    let rows = rows_of(case);
    match rows {
        adversity::AT_ONCE | adversity::SAMPLED | adversity::PAIRED => {
            Ok(adversity::prepare(case, rows))
        }
        PANICS_IN_PREPARE => panic!("prepared badly"),
        IS_UNSUPPORTED => Err(Refusal::Unsupported("rows = 8, but 8 is unlucky".to_owned())),
        _ => Ok(Box::new(Saboteur { rows, steps: std::cell::Cell::new(0) })),
    }
}

const CONFIG: &str = "
sampling: { samples: 10, warm_up_s: 0.01, measurement_s: 0.02 }
model_params:
  matrix_shapes:
    - name: custom
      shapes: [[2, 1, 1], [3, 1, 1], [4, 1, 1], [5, 1, 1], [6, 1, 1], [7, 1, 1], [8, 1, 1], [1, 1, 1], [9, 1, 1]]
";

pub fn every_case_ends_in_one_written_outcome_and_the_run_goes_on() {
    let home = home();
    let (status, said) = bench(home.path(), &["--save-baseline", "before", SURVIVABLE]);
    assert_eq!(status, Some(1), "a failed case is a failed run: {said}");
    let records = records(home.path(), "before", &said);
    assert_eq!(records.len(), 8, "{said}");
    assert_eq!(records, self::records(home.path(), "new", &said));
    let outcome = |rows: u64| {
        let record = records.iter().find(|record| rows_of(&record.case) == rows);
        record.expect("every selected case has a record").outcome.clone()
    };
    let failed = |rows: u64, text: &str| match outcome(rows) {
        Outcome::Failed { error } if error.contains(text) => {}
        other => panic!("rows {rows}: {other:?} instead of {text}"),
    };
    failed(THROWS, "mat1 and mat2 shapes cannot be multiplied");
    failed(PANICS, "a step that panics");
    failed(PANICS, "outcomes.rs:");
    failed(THROWS_WHILE_TIMED, "thrown while timed");
    failed(PANICS_IN_PREPARE, "prepared badly");
    failed(FAILS_ITS_CHECK, "below the gate");
    assert!(matches!(outcome(RUNS_OUT_OF_MEMORY), Outcome::Oom { .. }), "{said}");
    assert!(matches!(outcome(IS_UNSUPPORTED), Outcome::Unsupported { .. }), "{said}");
    // The last case comes after all the others, and was measured.
    assert_eq!(outcome(FINE), Outcome::Measured, "{said}");
    let fine = records.last().expect("eight records");
    assert!(fine.last_sample.is_some_and(|sample| sample.iters > 0 && sample.ns > 0));
    assert_eq!(fine.measures.memory.map(|memory| memory.step.peak_bytes), Some(32), "8 floats");
    // Nothing that failed left an estimate.
    let estimates = |rows: u64| estimates(home.path(), rows, "before").exists();
    assert!(estimates(FINE) && !estimates(THROWS_WHILE_TIMED) && !estimates(FAILS_ITS_CHECK));
    // A failure is one line: no trace, no C++ frames.
    assert!(!said.contains("frame #") && !said.contains("RUST_BACKTRACE"), "{said}");
    let manifest = manifest(home.path());
    assert_eq!(manifest.selected.len(), 8);
    assert!(manifest.finished.is_some() && running(home.path()).is_none());
    assert_eq!(manifest.outcomes.get("failed"), Some(&5));
    // Every check of the machine is kept, and what did not pass is said.
    let lines: Vec<String> = manifest.checks.iter().filter_map(plan::Check::warning).collect();
    let debug = lines.iter().any(|line| line.starts_with("build: a debug build"));
    assert_eq!(debug, cfg!(debug_assertions), "{lines:?}");
    assert_eq!(manifest.warnings, lines);
    assert!(lines.iter().all(|line| said.contains(line)), "{said}");
    missing_baselines_stop_nothing_and_overwrite_nothing(home.path(), &records);
}

/// The file into which criterion writes the estimates of the case with that many rows.
pub fn estimates(home: &Path, rows: u64, baseline: &str) -> PathBuf {
    let folder = "criterion/inference_wrong_linear_cpu/baseline";
    home.join(format!("{folder}/bf16-{rows}x1x1/{baseline}/estimates.json"))
}

/// The records of `home` under that name; `said` is what the run said.
pub fn records(home: &Path, baseline: &str, said: &str) -> Vec<Record> {
    SUITE.records(home, baseline, said)
}

/// Runs it; its exit status and what it said on stderr.
fn bench(home: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = SUITE.command(home, arguments).output().expect("this program can be started");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn home() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// After the run above: `home` has its results under `before`, and `records` in `new`.
fn missing_baselines_stop_nothing_and_overwrite_nothing(home: &Path, records: &[Record]) {
    let new = home.join("criterion-torch/new/outcomes.jsonl");
    let before = std::fs::read_to_string(&new).expect("records");
    for flags in [&["--baseline", "typo"][..], &["--load-baseline", "typo", "--baseline", "before"]]
    {
        let (status, said) = bench(home, &[flags, &[SURVIVABLE]].concat());
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains("`typo`") && said.contains("saved are: before, new"), "{said}");
        assert_eq!(std::fs::read_to_string(&new).expect("records"), before);
    }
    // Only the case that was measured has a baseline; the others are skipped, each with a line.
    for flags in
        [&["--baseline", "before"][..], &["--load-baseline", "new", "--baseline", "before"]]
    {
        let (status, said) = bench(home, &[flags, &[SURVIVABLE]].concat());
        assert_eq!(status, Some(0), "{said}");
        let skipped = said.lines().filter(|line| line.contains(": skipped: it has no")).count();
        assert_eq!(skipped, records.len() - 1, "{said}");
    }
}

pub fn a_crash_has_a_name() {
    let home = home();
    let (status, said) = bench(home.path(), &["bf16-9x1x1"]);
    assert_eq!(status, None, "killed by a signal: {said}");
    let id = "inference/wrong/linear/cpu/baseline/bf16-9x1x1";
    assert_eq!(running(home.path()).as_deref(), Some(id));
    assert!(manifest(home.path()).finished.is_none());
}

pub fn a_wrong_variant_has_no_time_and_no_speedup() {
    let home = home();
    let (status, said) = bench(home.path(), &["^fusion/"]);
    assert_eq!(status, Some(1), "a failed case is a failed run: {said}");
    let records = records(home.path(), "new", &said);
    let variants = ["unfused", "fused", "addmm", "inplace"];
    let ids: Vec<&str> = records.iter().map(|record| record.full_id.as_str()).collect();
    assert_eq!(ids, variants.map(lost_bias::id));
    for (variant, record) in variants.iter().zip(&records) {
        let estimates = home.path().join("criterion").join(record.case.id.directory());
        let timed = estimates.join("new/estimates.json").exists() && record.last_sample.is_some();
        match (&record.outcome, *variant) {
            (Outcome::Failed { error }, "addmm") => {
                assert!(error.contains("is below the gate of 100.0 dB"), "{error}");
                assert!(!estimates.exists() && record.last_sample.is_none(), "it has no time");
                assert!(record.pairs.is_empty() && record.no_pair.is_none());
                assert_eq!((&record.accuracy, record.measures.latency), (&None, None));
            }
            // It comes before the wrong one and after it.
            (Outcome::Measured, "unfused") => assert!(timed),
            (Outcome::Measured, "fused" | "inplace") => {
                assert!(timed && record.pairs.len() == 1, "{variant}: {:?}", record.no_pair);
            }
            (outcome, _) => panic!("{variant}: {outcome:?}: {said}"),
        }
    }
    the_report_advises_nothing_wrong(home.path());
}

/// After the run above.
fn the_report_advises_nothing_wrong(home: &Path) {
    let output = Command::new(env!("CARGO_BIN_EXE_report"))
        .args(["fusion", "--format", "json", "--criterion-dir"])
        .arg(home.join("criterion"))
        .output()
        .expect("the report can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("strict JSON");
    let [fused, wrong, inplace] = [0, 1, 2].map(|index| &report["results"][index]);
    assert!(fused["speedup_factor"].is_f64() && inplace["speedup_factor"].is_f64(), "{report}");
    assert_eq!((&wrong["variant"], &wrong["outcome"]), (&"addmm".into(), &"failed".into()));
    for key in ["fused_latency_ms", "fused_gflops", "speedup_factor", "speedup_low", "benefit"] {
        assert!(wrong[key].is_null(), "{key}");
    }
    let strategy = &report["strategy"][0];
    assert_ne!(strategy["best_variant"], "addmm");
    assert_eq!(strategy["variants"][1]["cases_with_speedup"], 0, "{strategy}");
}

/// Which case was running when the only run of `home` ended.
fn running(home: &Path) -> Option<String> {
    let runs = std::fs::read_dir(home.join("criterion-torch/runs")).expect("a run was written");
    let mut paths = runs.map(|entry| entry.expect("readable").path());
    let path = paths.find(|path| path.extension().is_some_and(|it| it == "running"))?;
    Some(std::fs::read_to_string(path).expect("readable"))
}

/// The manifest of the only run of `home`.
pub fn manifest(home: &Path) -> RunManifest {
    let runs = std::fs::read_dir(home.join("criterion-torch/runs")).expect("a run was written");
    let mut paths = runs.map(|entry| entry.expect("readable").path());
    let path = paths.find(|path| path.extension().is_some_and(|it| it == "json"));
    let text = std::fs::read_to_string(path.expect("a manifest")).expect("readable");
    serde_json::from_str(&text).expect("a manifest")
}

pub fn test_mode_runs_every_case_once_and_saves_nothing() {
    let home = home();
    let (status, said) = bench(home.path(), &["--test", "bf16-1x1x1"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("outcomes: 1 case: 1 tested"), "{said}");
    for folder in ["criterion", "criterion-torch"] {
        assert!(!home.path().join(folder).exists(), "a test leaves no {folder}");
    }
    let (status, said) = bench(home.path(), &["--test", "bf16-7x1x1"]);
    assert_eq!(status, Some(1), "a check that fails is a test that fails: {said}");
}

pub fn a_filter_prepares_what_it_selects_and_nothing_else() {
    let one = FINE_ID;
    for (arguments, prepared) in [
        (vec!["--exact", one], vec![one]),
        (vec!["bf16-1x1x1"], vec![one]),
        (vec!["--list"], vec![]),
        (vec!["no-such-case"], vec![]),
        (vec!["--ignored"], vec![]),
    ] {
        let home = home();
        let (status, said) = bench(home.path(), &arguments);
        assert_eq!(status, Some(0), "{arguments:?}: {said}");
        assert_eq!(program::prepared(home.path()), prepared, "{arguments:?}");
    }
}

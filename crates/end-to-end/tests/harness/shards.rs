//! One run in several parts: each case is in one of them, and a part that was cut off is continued.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use criterion_torch::refusal::Refusal;
use criterion_torch::workload::Workload;
use plan::{Accuracy, Case, Partition, Record, Role, RunManifest, RunShard};
use tch::{Device, Kind, Tensor};
use tempfile::TempDir;

use crate::outcomes;
use crate::program::{self, Suite, exact, note, rows_of};

pub const SUITE: Suite = Suite { target: "shards", configs: &[("parts.yml", CONFIG)], prepare };

const CONFIG: &str = "
quantization_config_recipe_names: [int8wo]
packed: false
energy: false
latency: { calls: 10 }
sampling: { samples: 10, warm_up_s: 0.01, measurement_s: 0.02 }
model_params:
  matrix_shapes:
    - name: custom
      shapes: [[1, 1, 1], [2, 1, 1], [3, 1, 1], [4, 1, 1], [5, 1, 1]]
";

/// Makes the candidate with three rows take the process with it, as a kill would.
const KILLED: &str = "SHARDS_KILLED";
/// All that say which of several a job is: a test may itself run as one of them.
const VARIABLES: [&str; 9] = [
    "SLURM_ARRAY_TASK_ID",
    "SLURM_ARRAY_TASK_MIN",
    "SLURM_ARRAY_TASK_COUNT",
    "SLURM_ARRAY_TASK_STEP",
    "JOB_COMPLETION_INDEX",
    "CI_NODE_INDEX",
    "CI_NODE_TOTAL",
    "SKYPILOT_JOB_RANK",
    "SKYPILOT_NUM_JOBS",
];

struct Ones(Case);

impl Workload for Ones {
    fn step(&self) -> Result<Tensor, Refusal> {
        let is_third = rows_of(&self.0) == 3 && self.0.role == Role::Candidate;
        if is_third && std::env::var_os(KILLED).is_some() {
            std::process::abort();
        }
        Ok(Tensor::f_ones([8], (Kind::Float, Device::Cpu))?)
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        Ok(exact())
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
    note(case);
    Ok(Box::new(Ones(case.clone())))
}

fn home() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn run(home: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> (Output, String) {
    let mut command = SUITE.command(home, arguments);
    VARIABLES.iter().for_each(|name| {
        command.env_remove(name);
    });
    let output = command.envs(variables.iter().copied()).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

fn listed(arguments: &[&str]) -> Vec<String> {
    let (output, said) = run(home().path(), &[&["--list"][..], arguments].concat(), &[]);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().filter_map(|line| line.strip_suffix(": benchmark").map(str::to_owned)).collect()
}

fn sorted(mut ids: Vec<String>) -> Vec<String> {
    ids.sort();
    ids
}

/// The group of an id: all but its variant.
fn group(id: &str) -> String {
    let parts: Vec<&str> = id.split('/').collect();
    [&parts[..4], &parts[5..]].concat().join("/")
}

pub fn three_parts_are_the_whole() {
    let whole = sorted(listed(&[]));
    assert_eq!(whole.len(), 10);
    for partition in Partition::ALL {
        let mut parts = BTreeMap::new();
        let (mut prepared, mut named) = (vec![], vec![]);
        for index in ["1", "2", "3"] {
            let shard = format!("{index}/3");
            let part = ["--shard", &shard, "--partition", partition.as_str()];
            let home = home();
            let (output, said) = run(home.path(), &[&["--test"][..], &part].concat(), &[]);
            assert_eq!(output.status.code(), Some(0), "{said}");
            let here = program::prepared(home.path());
            let line =
                format!("shards: shard {shard} (flag, {partition}): {} of 10 cases, ", here.len());
            assert!(said.contains(&line), "{line}: {said}");
            for id in &here {
                let before = parts.insert(group(id), index);
                assert!(before.is_none_or(|it| it == index), "{id} is apart from its siblings");
            }
            prepared.extend(here);
            named.extend(listed(&part));
        }
        assert_eq!(sorted(prepared), whole, "{partition}");
        assert_eq!(sorted(named), whole, "{partition}");
    }
}

/// Measured, with the index from a scheduler's variable, and filtered behind it.
pub fn a_part_is_recorded_with_its_origin() {
    let (mut found, mut groups) = (vec![], vec![]);
    for index in 0..3_u32 {
        let home = home();
        let text = index.to_string();
        let variables = [("JOB_COMPLETION_INDEX", text.as_str()), ("CI_NODE_INDEX", "1")];
        let arguments = ["--quick", "--shard", "auto/3", "--save-baseline", "sweep", "/int8wo/"];
        let (output, said) = run(home.path(), &arguments, &variables);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(said.contains("not used: CI_NODE_INDEX"), "{said}");
        let manifest = outcomes::manifest(home.path());
        let shard = RunShard {
            index: index + 1,
            count: 3,
            partition: Partition::Balanced,
            from: "JOB_COMPLETION_INDEX".to_owned(),
        };
        assert_eq!(manifest.shard, Some(shard));
        assert!(manifest.finished.is_some() && manifest.resumed.is_empty());
        if !manifest.selected.is_empty() {
            let records = SUITE.records(home.path(), "sweep", &said);
            let ids: Vec<String> = records.into_iter().map(|record| record.full_id).collect();
            assert_eq!(ids, manifest.selected);
        }
        let of_part = listed(&["--shard", &format!("{}/3", index + 1)]);
        groups.extend(manifest.selected.iter().map(|id| of_part.contains(id)));
        found.extend(manifest.selected);
    }
    assert_eq!(sorted(found), sorted(listed(&["/int8wo/"])));
    assert!(groups.iter().all(|is_same| *is_same), "the filter moves no case");
}

pub fn a_wrong_part_runs_nothing() {
    for (arguments, variables, what) in [
        (&["--shard", "4/3"][..], &[][..], "there is no shard 4 of 3"),
        (&["--shard", "auto"], &[], "--shard 1/4"),
        (&["--shard", "auto"], &[("JOB_COMPLETION_INDEX", "0")], "--shard auto/16"),
        (&["--partition", "hash"], &[], "give --shard, too"),
        (&["--resume", "--discard-baseline"], &[], "--resume continues"),
    ] {
        let home = home();
        let (output, said) = run(home.path(), arguments, variables);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(what), "{arguments:?}: {said}");
        assert!(program::prepared(home.path()).is_empty(), "{arguments:?}");
    }
}

/// The runs of `home` by when they started, and the records by their run.
fn runs(home: &Path, said: &str) -> (Vec<RunManifest>, Vec<Record>) {
    let folder = home.join("criterion-torch/runs");
    let entries =
        std::fs::read_dir(folder).expect("runs").map(|entry| entry.expect("readable").path());
    let files = entries.filter(|path| path.extension().is_some_and(|it| it == "json"));
    let text = |path| std::fs::read_to_string(path).expect("readable");
    let mut runs: Vec<RunManifest> =
        files.map(|path| serde_json::from_str(&text(path)).expect("a manifest")).collect();
    // An id holds the milliseconds.
    runs.sort_by(|a, b| a.run_id.cmp(&b.run_id));
    (runs, SUITE.records(home, "base", said))
}

pub fn a_part_that_was_cut_off_is_continued() {
    for is_same_machine in [true, false] {
        let home = home();
        let part = ["--quick", "--shard", "1/1"];
        let (output, said) = run(home.path(), &part, &[(KILLED, "1")]);
        assert_eq!(output.status.code(), None, "it was killed: {said}");
        let file = home.path().join("criterion-torch/base/shards.jsonl");
        let text = std::fs::read_to_string(&file).expect("records");
        let text = match is_same_machine {
            true => text,
            false => text.replace(r#""cpu_model":""#, r#""cpu_model":"another "#),
        };
        // What a kill leaves of a line.
        std::fs::write(&file, text + "{\"version\":2,").expect("writable");

        // Groups 1 and 2 are whole, and the baseline of 3; that has to be of its candidate's machine.
        let kept = if is_same_machine { 5 } else { 4 };
        let (output, said) = run(home.path(), &[&part[..], &["--resume"]].concat(), &[]);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(said.contains("--resume cannot read 1 line of "), "{said}");
        let line = format!("shards: {kept} of 10 cases were measured as `base` and are kept");
        assert!(said.contains(&line), "{line}: {said}");
        let left = 10 - kept;
        assert!(said.contains(&format!("10 cases: {left} measured, {kept} kept")), "{said}");
        std::fs::write(&file, without_cut_off(&file)).expect("writable");
        let (runs, records) = runs(home.path(), &said);
        let [killed, whole] = &runs[..] else { panic!("{runs:?}") };
        assert_eq!((killed.finished, killed.resumed.len()), (None, 0));
        assert_eq!((whole.selected.len(), whole.resumed.len()), (10, kept));
        assert_eq!(records.len(), 10, "{said}");
        for record in &records {
            let of = if whole.resumed.contains(&record.full_id) { killed } else { whole };
            assert_eq!(record.run_id, of.run_id, "{}", record.full_id);
        }
        nothing_is_missing(home.path());
    }
}

/// The lines that are whole: a cut off one stays, as evidence.
fn without_cut_off(file: &Path) -> String {
    let text = std::fs::read_to_string(file).expect("records");
    text.lines().filter(|line| line.ends_with('}')).map(|line| format!("{line}\n")).collect()
}

fn nothing_is_missing(home: &Path) {
    let mut report = Command::new(env!("CARGO_BIN_EXE_report"));
    report.args(["show", "--strict", "--baseline", "base", "--criterion-dir"]);
    let output = report.arg(home.join("criterion")).output().expect("the report can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
}

pub fn what_was_measured_otherwise_is_measured_again() {
    let home = home();
    let (one, said) = ("/int8wo/bf16-1x1x1", |home: &Path, arguments: &[&str]| {
        let (output, said) = run(home, arguments, &[]);
        assert_eq!(output.status.code(), Some(0), "{said}");
        said
    });
    said(home.path(), &["--quick", one]);
    let again = said(home.path(), &["--quick", "--resume", one]);
    assert!(
        again.contains("1 of 1 cases were measured") && again.contains("1 case: 1 kept"),
        "{again}"
    );
    // Another name, and another time for each case.
    let other = said(home.path(), &["--quick", "--resume", "--save-baseline", "other", one]);
    assert!(other.contains("0 of 1 cases were measured as `other`"), "{other}");
    let longer = said(home.path(), &["--resume", one]);
    assert!(longer.contains("0 of 1 cases were measured as `base`"), "{longer}");
    // Criterion's half is gone.
    std::fs::remove_dir_all(home.path().join("criterion")).expect("it was there");
    let gone = said(home.path(), &["--resume", one]);
    assert!(gone.contains("0 of 1 cases were measured as `base`"), "{gone}");
}

/// A host that runs out of memory may have some later; who runs a part is told so by the exit code.
pub fn a_part_that_the_machine_failed_is_worth_another_try() {
    let starved = "bf16-4x1x1";
    let plain = outcomes::SUITE.run(&[starved]);
    assert_eq!(plain.status, Some(0), "{}", plain.said);
    for arguments in [&["--shard", "1/1", starved][..], &["--resume", starved]] {
        let run = outcomes::SUITE.run(arguments);
        assert_eq!(run.status, Some(75), "{}", run.said);
        assert!(
            run.said.contains("ran out of memory in inference/wrong/linear/cpu"),
            "{}",
            run.said
        );
        assert!(run.said.contains("--resume (exit code 75)"), "{}", run.said);
    }
    let failed = outcomes::SUITE.run(&["--shard", "1/1", "bf16-7x1x1"]);
    assert_eq!(failed.status, Some(1), "a failed case fails again: {}", failed.said);
}

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
const LOST: &str = "inference/parts/linear/cpu/int8wo/bf16-3x1x1";
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
        // A killed run leaves the beginning of a line: of a case that is measured below, or less.
        let lost = format!(r#"{{"version":2,"full_id":"{LOST}","run_id":"x","timestamp":1,"#);
        std::fs::write(&file, text + &lost + "\n{\"version\":2,").expect("writable");

        // Groups 1 and 2 are whole, and the baseline of 3; that has to be of its candidate's machine.
        let kept = if is_same_machine { 5 } else { 4 };
        let (output, said) = run(home.path(), &[&part[..], &["--resume"]].concat(), &[]);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(said.contains("--resume cannot read 2 lines of "), "{said}");
        let line = format!("shards: {kept} of 10 cases were measured as `base` and are kept");
        assert!(said.contains(&line), "{line}: {said}");
        let left = 10 - kept;
        assert!(said.contains(&format!("10 cases: {left} measured, {kept} kept")), "{said}");
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

fn nothing_is_missing(home: &Path) {
    let mut report = Command::new(env!("CARGO_BIN_EXE_report"));
    report.args(["show", "--strict", "--baseline", "base", "--criterion-dir"]);
    let output = report.arg(home.join("criterion")).output().expect("the report can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
}

/// Killed runs and mistakes damage criterion's half of a result, in the folder of either of its names.
pub fn a_case_whose_result_is_not_whole_is_measured_again() {
    let home = home();
    let run = |arguments: &[&str]| {
        let arguments = [&["--quick", "/bf16-1x1x1"], arguments].concat();
        let (output, said) = run(home.path(), &arguments, &[]);
        assert_eq!(output.status.code(), Some(0), "{said}");
        said
    };
    run(&[]);
    let case = home.path().join("criterion/inference_parts_linear_cpu/int8wo/bf16-1x1x1");
    let file = |name: &str, file: &str| case.join(name).join(format!("{file}.json"));
    let text = |path: &Path| std::fs::read_to_string(path).expect("readable");
    let other = home.path().join("other");
    type Damage<'d> = (&'static str, &'d dyn Fn(&Path));
    let damages: [Damage<'_>; 6] = [
        ("gone", &|path| std::fs::remove_file(path).expect("removed")),
        ("empty", &|path| std::fs::write(path, "").expect("written")),
        ("cut off", &|path| std::fs::write(path, &text(path)[..50]).expect("written")),
        ("a folder", &|path| {
            std::fs::remove_file(path).expect("removed");
            std::fs::create_dir(path).expect("made");
        }),
        ("a pipe", &|path| {
            std::fs::remove_file(path).expect("removed");
            let made = Command::new("mkfifo").arg(path).status().expect("mkfifo can be started");
            assert!(made.success());
        }),
        ("another run's", &|path| assert!(std::fs::copy(&other, path).expect("copied") > 0)),
    ];
    let parts = ["sample", "estimates", "benchmark"];
    let all = damages.map(|it| ("base", "sample", it));
    let others = [("base", 1), ("base", 2), ("new", 0), ("new", 1), ("new", 2)];
    let others = others.map(|(name, part)| (name, parts[part], damages[4 + part % 2]));
    for (name, part, (what, damage)) in all.into_iter().chain(others) {
        let path = file(name, part);
        let replaced = match part {
            "sample" => text(&path).replace("\"times\":[", "\"times\":[1"),
            "estimates" => text(&path).replace("\"point_estimate\":", "\"point_estimate\":1"),
            _ => text(&path).replace("int8wo", "int4wo"),
        };
        assert_ne!(replaced, text(&path));
        std::fs::write(&other, replaced).expect("written");
        damage(&path);
        let said = run(&["--resume"]);
        for expected in ["1 of 2 cases were measured as `base`", "2 cases: 1 measured, 1 kept"] {
            assert!(said.contains(expected), "{name}/{part} {what}: {said}");
        }
    }
    let said = run(&["--resume"]);
    assert!(said.contains("2 of 2 cases"), "{said}");
    // Another run's samples under `new` are of no concern to this name.
    run(&["--save-baseline", "other"]);
    let said = run(&["--resume"]);
    assert!(said.contains("2 of 2 cases"), "{said}");
}

pub fn a_damaged_baseline_is_none() {
    let one = "/int8wo/bf16-1x1x1";
    for is_empty in [true, false] {
        let home = home();
        let run = |arguments: &[&str]| {
            let (output, said) = run(home.path(), &[&["--quick", one], arguments].concat(), &[]);
            (output.status.code(), said)
        };
        assert_eq!(run(&[]).0, Some(0));
        let base = home.path().join("criterion/inference_parts_linear_cpu/int8wo/bf16-1x1x1/base");
        let damage = || match is_empty {
            true => {
                std::fs::remove_dir_all(&base).expect("removed");
                std::fs::create_dir(&base).expect("made");
            }
            false => {
                std::fs::write(base.join("sample.json"), "{\"sampling_mode\":").expect("written")
            }
        };
        damage();
        let load = ["--load-baseline", "new", "--baseline", "base"];
        for arguments in [&["--baseline", "base"][..], &load] {
            let (code, said) = run(arguments);
            assert_eq!(code, Some(2), "{arguments:?}: {said}");
            assert!(said.contains("no selected case has a baseline `base`"), "{said}");
        }
        for arguments in [&["--baseline-lenient", "base"][..], &["--discard-baseline"]] {
            let (code, said) = run(arguments);
            assert_eq!(code, Some(2), "{arguments:?}: {said}");
            assert!(said.contains("a file of this baseline is missing or damaged"), "{said}");
        }
        let (code, said) = run(&[]);
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(said.matches("is incomplete or damaged").count(), 1, "{said}");
        assert!(!said.to_lowercase().contains("error"), "{said}");
        let (code, said) = run(&["--baseline", "base"]);
        assert_eq!(code, Some(0), "it was saved again: {said}");
    }
}

/// Criterion names a case when it begins to sample it, which it does not with these options.
pub fn a_line_for_bencher_is_whole() {
    let home = home();
    let one = ["--output-format", "bencher", "/int8wo/bf16-[12]x"];
    let load = ["--load-baseline", "base", "--baseline", "base"];
    for options in [&["--quick"][..], &load, &[]] {
        let (output, said) = run(home.path(), &[options, &one].concat(), &[]);
        assert_eq!(output.status.code(), Some(0), "{said}");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.len(), 2, "{options:?}: {text}");
        for (line, rows) in lines.iter().zip(1..) {
            let head =
                format!("test inference/parts/linear/cpu/int8wo/bf16-{rows}x1x1 ... bench: ");
            assert!(
                line.starts_with(&head) && line.contains("ns/iter (+/- "),
                "{options:?}: {text}"
            );
        }
    }
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

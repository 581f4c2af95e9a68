//! A row of the matrix with a cargo that measures nothing: it writes down what it was asked for,
//! and leaves results that are made up.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::events::{self, PULL_REQUEST};
use crate::file::Workflow;
use crate::github::GitHub;
use crate::repository::{self, git};
use crate::runner::{self, Ended, Runner};

/// Of its calls but for setup the nth finds what it leaves in the folder `n`, and there in `code`
/// how it ends.
const CARGO: &str = r#"#!/bin/bash
set -euo pipefail
if [[ $* == "xtask setup" ]]; then exit 0; fi
if [[ $* == "xtask flavour" ]]; then echo cpu; exit 0; fi
echo "$(basename "$PWD"): $*" >>"$MADE_UP/calls"
answer=$MADE_UP/$(wc -l <"$MADE_UP/calls")
if [[ $* =~ --output-dir\ ([^ ]+) && -e $answer/reports ]]; then
    mkdir -p "${BASH_REMATCH[1]}"
    cp -r "$answer/reports/." "${BASH_REMATCH[1]}"
fi
if [[ -e $answer/sleep ]]; then sleep 60; fi
if [[ -e $answer/code ]]; then exit "$(<"$answer/code")"; fi
"#;

const BASE: &str = "base: xtask kernels --backends cpu --precision fp32 --iters 10 --output-dir \
                    TEMP/base-reports --save-baseline base-branch";
const CHANGE: &str = "project: xtask kernels --backends cpu --precision fp32 --iters 10 \
                      --output-dir reports --compare-to base-branch";

struct Row<'w> {
    place: PathBuf,
    pub runner: Runner<'w>,
    calls: usize,
    merge: String,
}

impl<'w> Row<'w> {
    /// A pull request of which both sides have `cargo xtask kernels`.
    fn new(workflow: &'w Workflow, github: &GitHub, place: &Path) -> Self {
        let (tree, bin) = (place.join("tree"), place.join("bin"));
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        repository::copy(&here.join(".github"), &tree.join(".github"));
        repository::copy(&here.join(".cargo"), &tree.join(".cargo"));
        git(&tree, &["init", "--quiet", "--initial-branch=main"]);
        git(&tree, &["add", "--all"]);
        git(&tree, &["commit", "--quiet", "--message", "base"]);
        git(&tree, &["commit", "--quiet", "--allow-empty", "--message", "change"]);
        git(place, &["clone", "--quiet", "--bare", "tree", "origin.git"]);
        fs::create_dir_all(&bin).expect("make a folder");
        fs::write(bin.join("cargo"), CARGO).expect("write a script");
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(bin.join("cargo"), executable).expect("make it executable");
        let merge = runner::head(place, "main");
        let mut runner = Runner::new(workflow, place);
        events::describe(&mut runner, PULL_REQUEST, &merge, github);
        let path = std::env::var("PATH").expect("a PATH in UTF-8");
        let path = format!("{}:{path}", bin.display());
        let made_up = place.join("made-up").display().to_string();
        for (name, value) in [("PATH", path), ("MADE_UP", made_up)] {
            runner.variables.insert(name.to_owned(), value);
        }
        Self { place: place.to_owned(), runner, calls: 0, merge }
    }

    /// A file that the change adds.
    fn add(&mut self, file: &str) {
        let (tree, origin) = (self.place.join("tree"), self.place.join("origin.git"));
        let path = tree.join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("make a folder");
        fs::write(path, "").expect("write a file");
        git(&tree, &["add", "--all"]);
        git(&tree, &["commit", "--quiet", "--message", file]);
        git(&tree, &["push", "--quiet", origin.to_str().expect("UTF-8"), "main"]);
        self.merge = runner::head(&self.place, "main");
    }

    /// What the next call of cargo ends with and leaves: a text for each file.
    fn answers(&mut self, code: i32, files: &[(&str, &str)]) {
        self.calls += 1;
        let answer = self.place.join("made-up").join(self.calls.to_string());
        let reports = answer.join("reports");
        fs::create_dir_all(&answer).expect("make a folder");
        fs::write(answer.join("code"), code.to_string()).expect("write a file");
        for (file, text) in files {
            fs::create_dir_all(&reports).expect("make a folder");
            fs::write(reports.join(file), text).expect("write a file");
        }
    }

    fn measure(&mut self) -> Ended {
        let merge = self.merge.clone();
        self.runner.run("bench", &merge)
    }

    /// Every call of cargo but for setup: where, and what it was asked for.
    fn calls(&self) -> Vec<String> {
        let temp = self.place.join("bench/temp").display().to_string();
        let text = fs::read_to_string(self.place.join("made-up/calls")).expect("it was called");
        text.lines().map(|line| line.replace(&temp, "TEMP")).collect()
    }

    /// A file of what was uploaded; nothing where there is none.
    fn uploaded(&self, file: &str) -> Option<String> {
        let row = self.runner.artifacts().join("benchmark-results-cpu-fp32");
        fs::read_to_string(row.join(file)).ok()
    }
}

/// The summary of a run with so many cases measured, failed, skipped and never reached.
fn summary([successful, failed, skipped, missing]: [u64; 4]) -> String {
    let reason = "no CUDA device is there";
    let skip = json!({"full_id": "a", "outcome": "skipped", "error_message": reason});
    let results = if skipped > 0 { vec![skip] } else { Vec::new() };
    json!({
        "successful": successful, "failed": failed, "skipped": skipped, "missing": missing,
        "results": results
    })
    .to_string()
}

fn regressions(list: &[(&str, &str)]) -> String {
    let of = |(id, kind): &(&str, &str)| json!({"full_id": id, "kind": kind});
    json!({"regressions": list.iter().map(of).collect::<Vec<Value>>()}).to_string()
}

/// What a report beside a baseline leaves.
fn compared<'t>(summary: &'t str, regressions: &'t str) -> [(&'static str, &'t str); 4] {
    [
        ("summary.json", summary),
        ("regressions.json", regressions),
        ("summary.md", "# Kernel benchmarks\n"),
        ("regressions.md", "# Regressions\n"),
    ]
}

#[test]
fn a_base_that_is_broken_is_said_and_fails_unless_it_cannot_be_built() {
    let all = summary([2, 0, 0, 0]);
    let change = [("summary.json", all.as_str()), ("summary.md", "# Kernel benchmarks\n")];
    // How measuring ends, and then building alone; what is said, and which step fails.
    for (code, builds, why, failed) in [
        (101, Some(101), "cannot be built", None),
        (101, Some(0), "could not be measured: exit code 101", Some("Confirm regressions")),
        (2, None, "could not be measured: exit code 2", Some("Confirm regressions")),
    ] {
        let scratch = tempfile::tempdir().expect("a temporary folder");
        let (workflow, github) = (Workflow::read(), GitHub::start());
        let mut row = Row::new(&workflow, &github, scratch.path());
        row.answers(code, &[]);
        if let Some(builds) = builds {
            // The report of what was measured before the end, of which there is none.
            row.answers(2, &[]);
            row.answers(builds, &[]);
        }
        row.answers(0, &change);
        let ended = row.measure();
        assert_eq!(ended.failed.as_deref(), failed, "{}", ended.log);
        let base = git(&scratch.path().join("tree"), &["rev-parse", "HEAD~1"]);
        let why = format!("the base, {}, {why}", &base[..8]);
        let level = if failed.is_some() { "::error::" } else { "::warning::not compared: " };
        assert!(ended.log.contains(&format!("{level}{why}\n")), "{}", ended.log);
        let said = row.uploaded("regressions.md").expect("it is uploaded");
        assert_eq!(said, format!("Not compared: {why}.\n"));
        let verdict = row.uploaded("verdict.md").expect("it is uploaded");
        assert_eq!(verdict, format!("not compared: {why}\n"));
        assert_eq!(ended.summary, format!("{said}# Kernel benchmarks\n"));
        let measured = row.calls().pop().expect("calls");
        assert_eq!(measured, CHANGE.replace(" --compare-to base-branch", ""));
    }
}

#[test]
fn a_change_that_never_ends_or_crashes_fails_with_what_was_measured_before() {
    let unreached = summary([1, 0, 0, 2]);
    let partial = [("summary.json", unreached.as_str()), ("summary.md", "# Until then\n")];
    for (code, endless, shown) in [(139, false, 139), (1, true, 124), (1, false, 1)] {
        let scratch = tempfile::tempdir().expect("a temporary folder");
        let (workflow, github) = (Workflow::read(), GitHub::start());
        let mut row = Row::new(&workflow, &github, scratch.path());
        row.runner.variables.insert("MEASURING_TAKES_AT_MOST".to_owned(), "2s".to_owned());
        row.answers(0, &[("summary.json", &summary([2, 0, 0, 0]))]);
        let reports_itself = code == 1 && !endless;
        row.answers(code, if reports_itself { &partial } else { &[] });
        if endless {
            fs::write(scratch.path().join("made-up/2/sleep"), "").expect("write a file");
        }
        row.answers(0, &partial);
        let ended = row.measure();
        assert_eq!(ended.failed.as_deref(), Some("Measure the change"), "{}", ended.log);
        assert_eq!(ended.summary, "# Until then\n");
        let verdict = row.uploaded("verdict.md").expect("it is uploaded");
        let expected = "the change could not be measured to the end: exit code";
        assert_eq!(verdict, format!("{expected} {shown}\n"), "{}", ended.log);
        let report = "project: criterion-report kernels --latest --output-dir reports \
                      --compare-to base-branch";
        let last = row.calls().pop().expect("calls");
        assert_eq!(last, if reports_itself { CHANGE } else { report });
    }
}

#[test]
fn a_row_without_its_device_is_skipped_and_says_so() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let (workflow, github) = (Workflow::read(), GitHub::start());
    let mut row = Row::new(&workflow, &github, scratch.path());
    let skipped = summary([0, 0, 1, 0]);
    row.answers(0, &[("summary.json", &skipped)]);
    row.answers(0, &compared(&skipped, &regressions(&[])));
    let ended = row.measure();
    assert_eq!(ended.failed, None, "{}", ended.log);
    assert_eq!(ended.summary, "# Kernel benchmarks\n", "and not its regressions twice");
    let verdict = row.uploaded("verdict.md").expect("it is uploaded");
    assert_eq!(verdict, "nothing measured here: no CUDA device is there\n");
}

#[test]
fn a_row_that_ends_before_it_measures_uploads_nothing() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let (workflow, github) = (Workflow::read(), GitHub::start());
    let mut row = Row::new(&workflow, &github, scratch.path());
    fs::write(scratch.path().join("bin/cargo"), "#!/bin/sh\nexit 7\n").expect("write a script");
    let ended = row.measure();
    assert_eq!(ended.failed.as_deref(), Some("Read the flavour of libtorch"), "{}", ended.log);
    assert!(ended.log.contains("::warning::No files were found"), "{}", ended.log);
    assert!(!row.runner.artifacts().exists());
}

#[test]
fn the_history_is_read_where_there_is_one() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let (workflow, github) = (Workflow::read(), GitHub::start());
    let mut row = Row::new(&workflow, &github, scratch.path());
    row.add("benchmarks/history/README.md");
    let (all, none) = (summary([1, 1, 0, 0]), regressions(&[]));
    row.answers(0, &[("summary.json", &all)]);
    // A case fails, as it does on the base.
    row.answers(1, &compared(&all, &none));
    let ended = row.measure();
    assert_eq!(ended.failed, None, "{}", ended.log);
    let change = CHANGE.replace("--compare-to", "--history benchmarks/history --compare-to");
    assert_eq!(row.calls(), [BASE.to_owned(), change]);
    let verdict = row.uploaded("verdict.md").expect("it is uploaded");
    assert_eq!(verdict, "nothing regressed; failed cases: 1\n");
}

/// A row whose change regressed so, and so when it was measured again.
fn confirmed(
    first: &[(&str, &str)],
    again: &[(&str, &str)],
) -> (Ended, Vec<String>, Option<String>) {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let (workflow, github) = (Workflow::read(), GitHub::start());
    let mut row = Row::new(&workflow, &github, scratch.path());
    let all = summary([2, 0, 0, 0]);
    row.answers(0, &[("summary.json", &all)]);
    row.answers(0, &compared(&all, &regressions(first)));
    row.answers(0, &[("summary.json", &all)]);
    row.answers(0, &[("summary.json", &all)]);
    row.answers(0, &compared(&all, &regressions(again)));
    let ended = row.measure();
    (ended, row.calls(), row.uploaded("confirmed.md"))
}

#[test]
fn what_regressed_is_measured_again_in_the_other_order() {
    let slow = [("kernels/a+b/cpu/kernel/f32", "latency")];
    let (ended, calls, text) = confirmed(&slow, &slow);
    assert_eq!(ended.failed.as_deref(), Some("Confirm regressions"), "{}", ended.log);
    let only = "^(kernels/a\\+b/cpu/kernel/f32)$";
    let again = "--backends cpu --precision fp32 --iters 10 --output-dir TEMP";
    let expected = [
        BASE.to_owned(),
        CHANGE.to_owned(),
        format!("project: xtask kernels {again}/change-again --save-baseline change-again {only}"),
        format!("base: xtask kernels {again}/base-again --save-baseline base-branch-again {only}"),
        format!(
            "project: criterion-report kernels --baseline change-again --compare-to \
             base-branch-again --filter {only} --output-dir reports/again"
        ),
    ];
    assert_eq!(calls, expected);
    let text = text.expect("it is uploaded");
    assert_eq!(text, "Regressed twice in a row:\n\n- `kernels/a+b/cpu/kernel/f32`: latency\n");
}

#[test]
fn a_regression_is_confirmed_in_its_kind_or_by_failing() {
    let confirms = |first: &[(&str, &str)], again: &[(&str, &str)]| {
        let (ended, _, text) = confirmed(first, again);
        let text = text.expect("it is uploaded");
        assert_eq!(ended.failed.is_some(), text.starts_with("Regressed twice"), "{}", ended.log);
        text.lines().filter_map(|line| line.strip_prefix("- ").map(str::to_owned)).collect()
    };
    let none: [String; 0] = [];
    let found: Vec<String> = confirms(&[("a", "latency"), ("b", "failure")], &[("a", "failure")]);
    assert_eq!(found, ["`a`: failure"]);
    assert_eq!(confirms(&[("a", "failure")], &[("a", "latency")]), none, "it runs again");
    assert_eq!(confirms(&[("a", "latency")], &[("a", "accuracy")]), none);
    assert_eq!(confirms(&[("a", "latency")], &[("b", "failure")]), none, "another one");
    assert_eq!(confirms(&[("a", "latency")], &[]), none, "not there again");
    let both = [("a", "accuracy"), ("a", "latency")];
    assert_eq!(confirms(&both, &both), ["`a`: accuracy", "`a`: latency"]);
}

//! The scripts around the measuring, with results that are made up.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::events::{self, PULL_REQUEST, PUSH};
use crate::file::Workflow;
use crate::github::{GitHub, TOKEN};
use crate::repository::{self, git};
use crate::runner::{self, Runner};

/// A repository with the scripts of this one.
fn repository_in(place: &Path) {
    let tree = place.join("tree");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    repository::copy(&here.join(".github"), &tree.join(".github"));
    git(&tree, &["init", "--quiet", "--initial-branch=main"]);
    git(&tree, &["add", "--all"]);
    git(&tree, &["commit", "--quiet", "--message", "scripts"]);
    git(place, &["clone", "--quiet", "--bare", "tree", "origin.git"]);
}

/// A runner for a repository of its own, at an event; and its main branch's commit.
fn runner_in<'w>(
    place: &Path,
    workflow: &'w Workflow,
    event: &str,
    github: &GitHub,
) -> (Runner<'w>, String) {
    repository_in(place);
    let mut runner = Runner::new(workflow, place);
    let main = runner::head(place, "main");
    events::describe(&mut runner, event, &main, github);
    (runner, main)
}

/// What a row has uploaded.
fn uploaded(runner: &Runner<'_>, row: &str, files: &[(&str, &str)]) {
    let folder = runner.artifacts().join(format!("benchmark-results-{row}"));
    fs::create_dir_all(&folder).expect("make a folder");
    for (file, text) in files {
        fs::write(folder.join(file), text).expect("write a file");
    }
}

#[test]
fn there_is_one_comment_and_it_is_updated() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let (workflow, github) = (Workflow::read(), GitHub::start());
    let (mut runner, main) = runner_in(scratch.path(), &workflow, PULL_REQUEST, &github);
    runner.expressions.insert("needs.bench.result".to_owned(), "failure".to_owned());

    // More than one page of others, one of whom quotes ours.
    let marker = "<!-- criterion-torch kernels -->";
    for index in 0..120 {
        github.has("User", &format!("{marker}\nno. {index}"));
    }
    let regressions = r#"{"regressions": [{"full_id": "a", "kind": "latency"}]}"#;
    uploaded(
        &runner,
        "cpu-fp32",
        &[
            ("verdict.md", "**regressed twice**: `a` (latency)\n"),
            ("summary.md", "# Leaders of `fp32` $(touch injected) \"quoted\"\n"),
            ("summary.json", r#"{"successful": 2}"#),
            ("regressions.md", "# Slower\n"),
            ("regressions.json", regressions),
            ("confirmed.md", "Regressed twice\n"),
        ],
    );
    uploaded(
        &runner,
        "cuda-fp32",
        &[
            ("verdict.md", "nothing measured here: no GPU\n"),
            ("summary.md", "all skipped\n"),
            ("summary.json", r#"{"successful": 0}"#),
            ("regressions.md", "none\n"),
            ("regressions.json", r#"{"regressions": []}"#),
        ],
    );
    uploaded(&runner, "cuda-fp64", &[]);
    let ended = runner.run("comment", &main);
    assert_eq!(ended.failed, None, "{}", ended.log);
    let comments = github.by_programs();
    let [first] = &comments[..] else { panic!("{comments:?}") };
    assert!(first.starts_with(marker), "{first}");
    let parts = [
        "**failure**",
        "(https://github.test/owner/project/actions/runs/42)",
        "\n- cpu-fp32: **regressed twice**: `a` (latency)\n- cuda-fp32: nothing measured here: no \
         GPU\n- cuda-fp64: ended without a word; see its log\n",
        "<details><summary>cpu-fp32: regressions</summary>\n\nRegressed twice",
        "# Slower",
        "<details><summary>cpu-fp32: summary</summary>",
        "# Leaders of `fp32` $(touch injected) \"quoted\"",
    ];
    let places: Vec<Option<usize>> = parts.iter().map(|part| first.find(part)).collect();
    assert!(places.is_sorted() && places[0].is_some(), "{places:?}\n{first}");
    assert_eq!(first.matches("cuda-").count(), 2, "one line where nothing was measured: {first}");

    // The next push mends it.
    runner.expressions.insert("needs.bench.result".to_owned(), "success".to_owned());
    uploaded(
        &runner,
        "cpu-fp32",
        &[("verdict.md", "nothing regressed\n"), ("regressions.json", r#"{"regressions": []}"#)],
    );
    let ended = runner.run("comment", &main);
    assert_eq!(ended.failed, None, "{}", ended.log);
    let comments = github.by_programs();
    let [second] = &comments[..] else { panic!("{} comments", comments.len()) };
    assert!(second.contains("**success**;") && !second.contains("# Slower"), "{second}");
    assert!(second.contains("\n- cpu-fp32: nothing regressed\n"), "{second}");
    assert_eq!(github.writes(), 2);
}

#[test]
fn a_long_comment_keeps_every_verdict_and_the_row_that_failed() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let (workflow, github) = (Workflow::read(), GitHub::start());
    let (mut runner, main) = runner_in(scratch.path(), &workflow, PULL_REQUEST, &github);
    runner.expressions.insert("needs.bench.result".to_owned(), "failure".to_owned());
    let rows = ["cpu-bf16", "cpu-fp32", "cpu-fp64", "cuda-bf16", "cuda-fp32", "cuda-fp64"];
    for row in rows {
        let summary = format!("{row}'s summary\n{}", "x".repeat(20_000));
        let files = [
            ("verdict.md", "nothing regressed"),
            ("summary.md", &summary),
            ("summary.json", r#"{"successful": 2}"#),
            ("regressions.md", "None.\n"),
            ("regressions.json", r#"{"regressions": []}"#),
        ];
        uploaded(&runner, row, &files);
    }
    let of_last = [
        ("verdict.md", "**regressed twice**: `a` (latency)"),
        ("confirmed.md", "Regressed twice in a row\n"),
        ("regressions.md", "| a | slower |\n"),
        ("regressions.json", r#"{"regressions": [{"full_id": "a", "kind": "latency"}]}"#),
    ];
    uploaded(&runner, rows[5], &of_last);
    let ended = runner.run("comment", &main);
    assert_eq!(ended.failed, None, "{}", ended.log);
    let comments = github.by_programs();
    let [comment] = &comments[..] else { panic!("{} comments", comments.len()) };
    assert!(comment.len() < 65_536, "GitHub takes no more");
    let (head, details) = comment.split_once("<details>").expect("details");
    for row in &rows[..5] {
        assert!(head.contains(&format!("- {row}: nothing regressed\n")), "{head}");
    }
    assert!(head.ends_with("- cuda-fp64: **regressed twice**: `a` (latency)\n\n"), "{head}");
    let first = "<summary>cuda-fp64: regressions</summary>\n\nRegressed twice in a row\n\n| a |";
    assert!(details.starts_with(first), "{}", &details[..200]);
    assert!(details.contains("cpu-bf16's summary") && details.contains("cpu-fp32's summary"));
    let left_out = "in the artifacts alone: cpu-fp64, cuda-bf16, cuda-fp32, cuda-fp64";
    assert!(comment.ends_with(left_out), "{}", &comment[comment.len() - 300..]);
}

#[test]
fn a_token_that_may_only_read_is_said_and_other_refusals_fail() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let (workflow, github) = (Workflow::read(), GitHub::start());
    let (mut runner, main) = runner_in(scratch.path(), &workflow, PULL_REQUEST, &github);
    runner.expressions.insert("needs.bench.result".to_owned(), "success".to_owned());
    uploaded(&runner, "cpu-fp32", &[("summary.md", "# Leaders\n")]);
    github.make_read_only();
    let ended = runner.run("comment", &main);
    assert_eq!(ended.failed, None, "{}", ended.log);
    assert!(ended.summary.starts_with("This token may not comment"), "{}", ended.summary);
    assert!(ended.summary.contains("# Leaders"), "{}", ended.summary);
    assert!(github.by_programs().is_empty());

    runner.expressions.insert("github.token".to_owned(), "another".to_owned());
    let ended = runner.run("comment", &main);
    assert_eq!(ended.failed.as_deref(), Some("Comment on the pull request"));
    assert!(ended.log.contains("::error::the comments cannot be read: HTTP 401"), "{}", ended.log);

    // What stands between us and GitHub may answer in another language.
    runner.expressions.insert("github.token".to_owned(), TOKEN.to_owned());
    for page in ["<html>all is well</html>", r#"{"message": "no list"}"#] {
        github.says_nothing_but(page);
        let ended = runner.run("comment", &main);
        assert_eq!(ended.failed.as_deref(), Some("Comment on the pull request"));
        let expected = "::error::the comments cannot be understood: HTTP 200";
        assert!(ended.log.contains(expected), "{}", ended.log);
    }
}

/// The files of the history on the server, each with its text.
fn history(place: &Path) -> Vec<(PathBuf, String)> {
    let origin = place.join("origin.git");
    let list = git(&origin, &["ls-tree", "-r", "--name-only", "main", "benchmarks/history"]);
    let read = |file: &str| (file.into(), git(&origin, &["show", &format!("main:{file}")]));
    list.lines().map(read).collect()
}

#[test]
fn results_become_history_though_main_has_moved() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let (workflow, github) = (Workflow::read(), GitHub::start());
    let (mut runner, main) = runner_in(scratch.path(), &workflow, PUSH, &github);
    // With more of everything than trends read.
    let measured = json!({
        "schema": "criterion-torch/kernels", "version": 1, "timestamp": "2026-01-02T03:04:05Z",
        "commit": "c0ffee", "successful": 2, "environment": {"rustc": "1"},
        "results": [
            {
                "full_id": "a", "host_fingerprint": "h", "outcome": "measured", "error_message": null,
                "criterion": {
                    "median_ms": 1.5, "low_ms": 1.25, "high_ms": 1.75, "confidence_level": 0.95,
                    "samples": 10
                },
                "accuracy": {"rmse": 0.5, "relative_error": "NaN", "max_error": 1.0},
                "timing": {"latency_ms_p50": 1.5}
            },
            {
                "full_id": "b", "host_fingerprint": "h", "outcome": "measured",
                "criterion": {
                    "median_ms": 2.5, "low_ms": null, "high_ms": null, "confidence_level": 0.95
                },
                "accuracy": null
            },
            {"full_id": "c", "outcome": "skipped", "criterion": null, "accuracy": null}
        ]
    });
    let kept = json!({
        "schema": "criterion-torch/kernels", "version": 1, "timestamp": "2026-01-02T03:04:05Z",
        "commit": "c0ffee",
        "results": [
            {
                "full_id": "a", "host_fingerprint": "h", "outcome": "measured",
                "criterion": {
                    "median_ms": 1.5, "low_ms": 1.25, "high_ms": 1.75, "confidence_level": 0.95
                },
                "accuracy": {"rmse": 0.5, "relative_error": "NaN"}
            },
            {
                "full_id": "b", "host_fingerprint": "h", "outcome": "measured",
                "criterion": {
                    "median_ms": 2.5, "low_ms": null, "high_ms": null, "confidence_level": 0.95
                },
                "accuracy": null
            }
        ]
    });
    let measured = measured.to_string();
    uploaded(&runner, "cpu-fp32", &[("summary.json", &measured), ("summary.md", "# Leaders")]);
    uploaded(&runner, "cuda-fp32", &[("summary.json", r#"{"successful": 0}"#)]);
    uploaded(&runner, "cuda-fp64", &[("summary.md", "no summary.json")]);

    // Somebody pushes while the job is at work.
    events::move_main_when_pushed_to(scratch.path());
    let ended = runner.run("history", &main);
    assert_eq!(ended.failed, None, "{}", ended.log);
    assert!(ended.log.contains("main has moved, attempt 1"), "{}", ended.log);
    let files = history(scratch.path());
    let [(file, text)] = &files[..] else { panic!("{files:?}") };
    assert_eq!(text.lines().count(), 1, "compact: {text}");
    assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), kept);
    let name = file.file_name().and_then(|name| name.to_str()).expect("UTF-8");
    let shape: String = name.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let commit: String =
        main[..8].chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(shape, format!("benchmark-00000000-000000-{commit}-cpu-fp00.json"));
    let log = git(&scratch.path().join("origin.git"), &["log", "--format=%s", "main"]);
    let expected =
        format!("benchmarks: history of {} [skip ci]\nmoved meanwhile\nscripts", &main[..8]);
    assert_eq!(log, expected);

    // Where nothing was measured nothing is committed.
    repository::remove(&runner.artifacts().join("benchmark-results-cpu-fp32"));
    let main = runner::head(scratch.path(), "main");
    let ended = runner.run("history", &main);
    assert_eq!(ended.failed, None, "{}", ended.log);
    assert!(ended.log.contains("nothing to commit"), "{}", ended.log);
    assert_eq!(runner::head(scratch.path(), "main"), main);

    // Neither what is no summary nor a refusal is taken for something else.
    uploaded(&runner, "cpu-fp32", &[("summary.json", "{")]);
    let ended = runner.run("history", &main);
    assert_eq!(ended.failed.as_deref(), Some("Commit the results to benchmarks/history"));
    assert!(ended.log.contains("::error::cpu-fp32: results/"), "{}", ended.log);
    // Of another commit: in the same second the file would be the one that is there.
    let other = measured.replace("c0ffee", "decade");
    uploaded(&runner, "cpu-fp32", &[("summary.json", &other)]);
    events::refuse_pushes(scratch.path());
    let ended = runner.run("history", &main);
    assert_eq!(ended.failed.as_deref(), Some("Commit the results to benchmarks/history"));
    assert!(ended.log.contains("main is protected"), "{}", ended.log);
    assert!(ended.log.contains("could not be pushed to, and has not moved"), "{}", ended.log);
    assert!(!ended.log.contains("attempt"), "{}", ended.log);
}

#[test]
fn precisions_are_a_list_of_words() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let (workflow, github) = (Workflow::read(), GitHub::start());
    let mut runner = Runner::new(&workflow, scratch.path());
    events::describe(&mut runner, PULL_REQUEST, "", &github);
    let input = "inputs.precision || 'fp32,fp64,bf16'";
    for (text, list) in [
        ("fp32,fp64,bf16", Some(r#"["fp32","fp64","bf16"]"#)),
        ("fp32, bf16 ", Some(r#"["fp32","bf16"]"#)),
        ("fp32\"]; exit", None),
        ("$(touch injected)", None),
        ("", None),
    ] {
        runner.expressions.insert(input.to_owned(), text.to_owned());
        let ended = runner.run("precisions", "");
        assert_eq!(ended.failed.is_none(), list.is_some(), "{text}: {}", ended.log);
        if let Some(list) = list {
            assert_eq!(runner.expressions["needs.precisions.outputs.list"], list);
        }
    }
    assert!(!runner.workspace("precisions").join("injected").exists());
}

/// What the step about the base branch leaves in GITHUB_OUTPUT, and prints, where no base can be
/// measured: there is no Rust in this repository.
fn measure_base(place: &Path, event: &str, before: &str) -> (String, String) {
    let (workspace, temp) = (place.join("workspace"), place.join("temp"));
    for folder in [&workspace, &temp] {
        repository::remove(folder);
        fs::create_dir_all(folder).expect("make a folder");
    }
    let main = runner::head(place, "main");
    repository::check_out(&place.join("origin.git"), &workspace, &main, true);
    let output = temp.join("output");
    fs::write(&output, "").expect("write an empty file");
    let mut script = Command::new(workspace.join(".github/scripts/measure_base.sh"));
    script.current_dir(&workspace).env("RUNNER_TEMP", &temp).env("GITHUB_OUTPUT", &output);
    script.env("GITHUB_EVENT_NAME", event).env("BEFORE", before).env("DEFAULT_BRANCH", "main");
    repository::isolate(&mut script);
    let ended = script.output().expect("the script can be run");
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    let failed = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "nothing to compare with is no error: {said}{failed}");
    (fs::read_to_string(output).expect("UTF-8"), said)
}

#[test]
fn a_base_that_cannot_be_measured_is_said() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let place = scratch.path();
    repository_in(place);
    let (output, said) = measure_base(place, PUSH, &"0".repeat(40));
    assert_eq!(output, "not_compared=there is no earlier commit\n");
    assert!(said.contains("::warning::not compared: there is no earlier commit"), "{said}");

    let tree = place.join("tree");
    let origin = place.join("origin.git");
    for commit in ["second", "third"] {
        git(&tree, &["commit", "--quiet", "--allow-empty", "--message", commit]);
    }
    git(&tree, &["push", "--quiet", origin.to_str().expect("UTF-8"), "main"]);
    let commit = |name: &str| git(&tree, &["rev-parse", name]);
    // Before a push that was; before what was forced away, or before a branch that is new, the
    // parent; the same for a run by hand on main, and for a pull request, which is a merge.
    let unknown = "1234567812345678123456781234567812345678";
    for (event, before, base) in [
        (PUSH, commit("HEAD~2"), commit("HEAD~2")),
        (PUSH, unknown.to_owned(), commit("HEAD~1")),
        ("workflow_dispatch", String::new(), commit("HEAD~1")),
        (PULL_REQUEST, String::new(), commit("HEAD~1")),
    ] {
        let (output, _) = measure_base(place, event, &before);
        let expected =
            format!("not_compared=the base, {}, has no `cargo xtask kernels`\n", &base[..8]);
        assert_eq!(output, expected, "{event}");
    }
}

//! Tests of the files that GitHub reads: workflows, issue forms and the template of pull requests. `tests/workflow` has more about bench.yml.

mod common;
#[path = "../../../tests/common/skip.rs"]
mod skip;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use common::{assert_none, root};
use serde_json::Value;

/// Names a folder with the Python package check-jsonschema, which has the schemas that GitHub has published.
const SCHEMAS: &str = "CRITERION_TORCH_SCHEMAS";

/// The files of a folder in .github, in the order of their names.
fn files(folder: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(root().join(".github").join(folder)).expect("readable");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("readable").path()).collect();
    files.sort();
    files
}

fn read(path: &PathBuf) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn workflow(name: &str) -> Value {
    let path = root().join(".github/workflows").join(name);
    serde_yaml::from_str(&read(&path)).expect("YAML")
}

fn steps(job: &Value) -> impl Iterator<Item = &Value> {
    job["steps"].as_array().expect("steps").iter()
}

#[test]
fn they_are_what_github_takes() {
    let Some(packages) = std::env::var_os(SCHEMAS) else {
        skip::tool(format!(
            "{SCHEMAS} names no folder of check-jsonschema, which pip install --target makes"
        ));
        return;
    };
    let is_config = |path: &PathBuf| path.ends_with("config.yml");
    let (config, forms): (Vec<_>, Vec<_>) =
        files("ISSUE_TEMPLATE").into_iter().partition(is_config);
    for (schema, files) in [
        ("github-workflows", files("workflows")),
        ("github-issue-forms", forms),
        ("github-issue-config", config),
        ("dependabot", vec![root().join(".github/dependabot.yml")]),
    ] {
        assert!(!files.is_empty(), "{schema}");
        let mut check = Command::new("python3");
        check.args(["-m", "check_jsonschema", "--builtin-schema", &format!("vendor.{schema}")]);
        let output = check.args(files).env("PYTHONPATH", &packages).output().expect("python3 runs");
        let said =
            [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
        assert!(output.status.success(), "{schema}: {}", said.concat());
    }
}

/// Text of others must not become code: a name of a branch, a title. Code of others must not run with our token.
#[test]
fn commands_hold_no_expression_and_actions_are_githubs() {
    let mut faults = Vec::new();
    for file in files("workflows") {
        let workflow: Value = serde_yaml::from_str(&read(&file)).expect("YAML");
        let name = file.file_name().expect("a name").display();
        for (job, value) in workflow["jobs"].as_object().expect("jobs") {
            for step in steps(value) {
                let title = step["name"].as_str().or(step["uses"].as_str()).unwrap_or("?");
                if step["run"].as_str().is_some_and(|run| run.contains("${{")) {
                    faults.push(format!(
                        "{name}: {job}: {title}: an expression in `run`: hand it on by `env`"
                    ));
                }
                if step["uses"].as_str().is_some_and(|action| !action.starts_with("actions/")) {
                    faults.push(format!(
                        "{name}: {job}: {title}: an action that is not GitHub's: use a command"
                    ));
                }
            }
            if value["timeout-minutes"].is_null() && name.to_string() != "bench.yml" {
                faults.push(format!("{name}: {job}: no timeout-minutes"));
            }
        }
        if workflow["permissions"] != serde_json::json!({ "contents": "read" }) {
            faults.push(format!(
                "{name}: permissions: a job that needs more than `contents: read` says so itself"
            ));
        }
        if workflow["defaults"]["run"]["shell"] != "bash" {
            faults.push(format!(
                "{name}: defaults.run.shell: it is not bash, so that a failure in a pipe is lost"
            ));
        }
    }
    assert_none(&faults);
}

/// Only the job that publishes may write, and only for a tag.
#[test]
fn one_job_may_write_a_release() {
    let release = workflow("release.yml");
    for (name, job) in release["jobs"].as_object().expect("jobs") {
        let expected = match name.as_str() {
            "publish" => serde_json::json!({ "contents": "write" }),
            _ => Value::Null,
        };
        assert_eq!(job["permissions"], expected, "{name}");
    }
    let publish = &release["jobs"]["publish"];
    assert_eq!(publish["if"], "${{ github.event_name == 'push' }}");
    assert_eq!(publish["needs"], serde_json::json!(["version", "build"]));
    assert_eq!(release["on"]["push"], serde_json::json!({ "tags": ["v*"] }));
    let ci = workflow("ci.yml");
    assert!(ci["jobs"].as_object().expect("jobs").values().all(|job| job["permissions"].is_null()));
}

/// CI and a contributor's machine run the same: the words of the matrices are words of the scripts.
#[test]
fn jobs_are_commands_that_a_contributor_has() {
    let ci = workflow("ci.yml");
    for (job, script) in [("change", ".ci/run"), ("nightly", ".ci/nightly")] {
        let text = read(&root().join(script));
        let words = ci["jobs"][job]["strategy"]["matrix"]["job"].as_array().expect("a list");
        assert!(words.len() > 2, "{words:?}");
        for word in words {
            let word = word.as_str().expect("text");
            assert!(text.contains(word), "{script} has no job `{word}`");
        }
        let is_run = |step: &Value| {
            let run = step["run"].as_str().unwrap_or_default();
            run.ends_with(&format!("{script} \"$JOB\""))
                && step["env"]["JOB"] == "${{ matrix.job }}"
        };
        assert!(steps(&ci["jobs"][job]).any(is_run), "{job}");
    }
    // Every fuzz target has ten minutes.
    assert!(read(&root().join(".ci/nightly")).contains("criterion-report/fuzz/run \"${1:-600}\""));
}

#[test]
fn unknown_jobs_of_a_night_are_refused() {
    let output = Command::new(root().join(".ci/nightly")).arg("mirri").output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("error: unknown job 'mirri' of .ci/nightly\nusage: "), "{said}");
    for word in ["miri", "asan", "assertions", "fuzz", "foreign", "tests"] {
        assert!(said.contains(&format!("\n  {word} ")), "{said}");
    }
}

/// A report of a bug without these is asked for them first.
#[test]
fn forms_ask_for_what_an_answer_needs() {
    for (form, words) in [
        ("bug.yml", &["cargo torch-bench doctor", "cargo xtask gpu-check"][..]),
        (
            "wrong-number.yml",
            &["target/criterion-torch/", "criterion-report show", "cargo torch-bench doctor"],
        ),
        ("feature.yml", &["docs/book/src/extending"]),
    ] {
        let text = read(&root().join(".github/ISSUE_TEMPLATE").join(form));
        let form: Value = serde_yaml::from_str(&text).expect("YAML");
        for word in words {
            assert!(text.contains(word), "{}: {word}", form["name"]);
        }
        let fields = form["body"].as_array().expect("a list");
        let is_required = |field: &&Value| field["validations"]["required"] == true;
        assert!(fields.iter().any(|field| is_required(&field)), "{}", form["name"]);
    }
}

//! The workflow file, without running it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_yaml::Value;

use crate::file::{Step, Workflow};

fn words<'w>(words: impl IntoIterator<Item = &'w String>) -> Vec<&'w str> {
    words.into_iter().map(String::as_str).collect()
}

#[test]
fn it_runs_for_both_branches_for_pull_requests_at_night_and_by_hand() {
    let on = Workflow::read().on;
    assert_eq!(
        (&on.push.branches[..], &on.pull_request.branches[..]),
        (&["main", "develop"].map(str::to_owned)[..], &["main", "develop"].map(str::to_owned)[..])
    );
    let [night] = &on.schedule[..] else { panic!("{:?}", on.schedule) };
    let fields: Vec<&str> = night.cron.split(' ').collect();
    assert_eq!((fields.len(), &fields[2..]), (5, &["*", "*", "*"][..]), "once a day");
    let inputs = &on.workflow_dispatch.inputs;
    assert!(inputs.values().all(|input| !input.description.is_empty()));
    assert_eq!(words(inputs.keys()), ["iterations", "nightly", "precision", "runs"]);
    let nightly = &inputs["nightly"];
    assert_eq!(
        (nightly.r#type.as_deref(), nightly.default.as_bool()),
        (Some("boolean"), Some(false))
    );
    let runs = &Workflow::read().jobs["targets"].env["RUNS"];
    assert_eq!(*runs, format!("${{{{ inputs.runs || '{}' }}}}", inputs["runs"].default_text()));
    // A pull request is measured with the form's defaults.
    let workflow = Workflow::read();
    let list = &workflow.jobs["precisions"].steps[0].env["PRECISIONS"];
    assert_eq!(
        *list,
        format!("${{{{ inputs.precision || '{}' }}}}", inputs["precision"].default_text())
    );
    assert_eq!(words(workflow.jobs["precisions"].outputs.keys()), ["list"]);
    let iterations = &workflow.jobs["bench"].env["ITERATIONS"];
    let expected =
        format!("${{{{ inputs.iterations || '{}' }}}}", inputs["iterations"].default_text());
    assert_eq!(*iterations, expected);
}

#[test]
fn every_row_is_measured_kept_for_30_days_and_stops_no_other() {
    let workflow = Workflow::read();
    let bench = &workflow.jobs["bench"];
    let strategy = bench.strategy.as_ref().expect("a matrix");
    assert!(!strategy.fail_fast);
    // Both sides may take as long as they may, and what was measured is still reported.
    let measure = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/scripts/measure.sh");
    let measure = std::fs::read_to_string(measure).expect("the script is in the repository");
    let limit = measure.split_once("${MEASURING_TAKES_AT_MOST:-").expect("a limit").1;
    let minutes: u32 = limit.split_once("m}").and_then(|it| it.0.parse().ok()).expect("minutes");
    assert!(2 * minutes < bench.timeout_minutes.expect("a limit"));
    let matrix = serde_json::to_value(&strategy.matrix).expect("plain values");
    assert_eq!(matrix["backend"], serde_json::json!(["cpu", "cuda"]));
    assert_eq!(matrix["precision"], "${{ fromJSON(needs.precisions.outputs.list) }}");
    assert_eq!(
        bench.runs_on,
        "${{ matrix.backend == 'cuda' && (github.event_name != 'pull_request' || \
         github.event.pull_request.head.repo.full_name == github.repository) && \
         vars.CUDA_RUNNER || 'ubuntu-latest' }}",
        "code of forks, deleted ones included, runs on no machine of ours"
    );
    let cache = |step: &&Step| step.action() == Some("actions/cache");
    let cache = bench.steps.iter().find(cache).expect("what is built is kept");
    for key in ["key", "restore-keys"] {
        let key = cache.input(key);
        let built_with =
            "-${{ steps.libtorch.outputs.flavour }}-${{ steps.rust.outputs.version }}-";
        assert!(key.contains(built_with), "{key}");
    }
    let index = |named: fn(&Step) -> bool| bench.steps.iter().position(named).expect("a step");
    let read = index(|step| step.id.as_deref() == Some("libtorch"));
    assert!(read < index(|step| step.action() == Some("actions/cache")), "its key has the answer");
    let upload = bench.steps.last().expect("steps");
    assert_eq!(upload.action(), Some("actions/upload-artifact"));
    assert_eq!(upload.input("retention-days"), "30");
    let name = "benchmark-results-${{ matrix.backend }}-${{ matrix.precision }}";
    assert_eq!(upload.input("name"), name);
    assert_eq!(upload.r#if.as_deref(), Some("${{ !cancelled() }}"), "failed rows, too");
    assert_eq!(
        workflow.concurrency.cancel_in_progress,
        "${{ github.event_name == 'pull_request' }}"
    );
    assert_eq!(
        workflow.concurrency.group,
        "bench-${{ github.event.pull_request.number || github.sha }}"
    );
}

/// Kernels have rows of their own, by precision.
#[test]
fn every_bench_target_is_measured() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let workflow = Workflow::read();
    let strategy = workflow.jobs["targets"].strategy.as_ref().expect("a matrix");
    assert!(!strategy.fail_fast);
    let matrix = serde_json::to_value(&strategy.matrix).expect("plain values");
    let mut measured: Vec<&str> =
        matrix["target"].as_array().expect("a list").iter().filter_map(|it| it.as_str()).collect();
    measured.push("kernels");
    measured.sort_unstable();
    let is_target = |text: &str| text.contains("criterion_torch::main!(\"");
    let mut targets: Vec<String> = std::fs::read_dir(root.join("benches"))
        .expect("bench targets")
        .map(|file| file.expect("readable").path())
        .filter(|file| file.is_file())
        .filter(|file| is_target(&std::fs::read_to_string(file).expect("UTF-8")))
        .map(|file| file.file_stem().expect("a name").to_str().expect("UTF-8").to_owned())
        .collect();
    targets.sort_unstable();
    assert_eq!(measured, targets);
    let upload = workflow.jobs["targets"].steps.last().expect("steps");
    assert_eq!(upload.action(), Some("actions/upload-artifact"));
    assert_eq!(upload.input("name"), "benchmark-results-cpu-${{ matrix.target }}");
    assert_eq!(
        (upload.input("path"), upload.input("retention-days")),
        ("reports".into(), "30".into())
    );
    assert_eq!(upload.r#if.as_deref(), Some("${{ !cancelled() }}"));
}

#[test]
fn each_job_may_do_what_it_has_to_and_no_more() {
    let workflow = Workflow::read();
    let pairs = |permissions: &std::collections::BTreeMap<String, String>| {
        permissions.iter().map(|(what, how)| format!("{what}: {how}")).collect::<Vec<_>>()
    };
    assert_eq!(pairs(&workflow.permissions), ["contents: read"]);
    assert_eq!(workflow.name, "bench");
    for (name, job) in &workflow.jobs {
        let needs = job.needs.jobs();
        assert!(needs.iter().all(|needed| workflow.jobs.contains_key(*needed)), "{name}");
        let expected: &[&str] = match name.as_str() {
            "comment" => &["contents: read", "pull-requests: write"],
            "history" => &["contents: write"],
            "issue" => &["contents: read", "issues: write"],
            "nightly" => &["actions: write", "contents: read"],
            _ => &[],
        };
        assert_eq!(pairs(&job.permissions), expected, "{name}");
        let checkouts = job.steps.iter().filter(|step| step.action() == Some("actions/checkout"));
        for checkout in checkouts {
            let persists = if name == "history" { "" } else { "false" };
            assert_eq!(checkout.input("persist-credentials"), persists, "{name}");
        }
    }
    let history = workflow.jobs["history"].r#if.as_deref().expect("a condition");
    assert!(history.contains("github.event_name == 'push'") && history.contains("refs/heads/main"));
    let issue = workflow.jobs["issue"].r#if.as_deref().expect("a condition");
    for condition in
        ["github.event_name == 'push'", "github.event_name == 'schedule'", "inputs.nightly"]
    {
        assert!(history.contains(condition) && issue.contains(condition), "{condition}");
    }
    assert!(!issue.contains("pull_request"));
}

/// A tag can be moved to other code; a commit cannot.
#[test]
fn actions_are_pinned_by_commit_and_say_their_version() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/workflows");
    let (mut actions, mut used) = (0, 0);
    for file in std::fs::read_dir(folder).expect("workflows") {
        let text = std::fs::read_to_string(file.expect("a file").path()).expect("readable");
        used += steps_of(&text).iter().filter(|step| step.get("uses").is_some()).count();
        for line in text.lines().filter(|line| line.contains("uses:")) {
            let (_, pinned) = line.split_once('@').unwrap_or_else(|| panic!("no version: {line}"));
            let (commit, version) = pinned.split_once(" # v").unwrap_or_else(|| panic!("{line}"));
            let is_commit = commit.len() == 40 && commit.bytes().all(|it| it.is_ascii_hexdigit());
            assert!(is_commit, "not a whole commit: {line}");
            let numbers: Vec<&str> = version.split('.').collect();
            let are_numbers = numbers.iter().all(|number| number.parse::<u32>().is_ok());
            assert!(numbers.len() == 3 && are_numbers, "not a version: {line}");
            actions += 1;
        }
    }
    assert_eq!(actions, used);
    assert!(used > Workflow::read().steps().filter(|step| step.uses.is_some()).count());
}

/// The steps of a workflow, whichever keys it has besides.
fn steps_of(workflow: &str) -> Vec<Value> {
    let workflow: Value = serde_yaml::from_str(workflow).expect("YAML");
    let jobs = workflow["jobs"].as_mapping().expect("jobs").values();
    jobs.flat_map(|job| job["steps"].as_sequence().expect("steps").clone()).collect()
}

/// Text of others must not become code, and code of others must not run with our token.
#[test]
fn scripts_hold_no_expression_and_actions_are_githubs() {
    let workflow = Workflow::read();
    for (name, job) in &workflow.jobs {
        for step in &job.steps {
            let run = step.run.as_deref().unwrap_or_default();
            assert!(!run.contains("${{"), "{name}: {}", step.title());
            assert!(run.lines().count() <= 15, "{name}: {}: a script of its own", step.title());
            let action = step.uses.as_deref().unwrap_or("actions/");
            assert!(action.starts_with("actions/"), "{name}: {action}");
        }
    }
    assert_eq!(workflow.defaults["run"]["shell"].as_str(), Some("bash"), "as the tests run them");
}

/// The folder holds the scripts that steps of any workflow run, the files that these source, and nothing else.
#[test]
fn every_script_is_there_can_be_run_and_is_used() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/scripts");
    let workflows = std::fs::read_dir(folder.join("../workflows")).expect("workflows");
    let mut text = String::new();
    for file in workflows {
        let file = std::fs::read_to_string(file.expect("readable").path()).expect("UTF-8");
        let steps = steps_of(&file);
        let runs = steps.iter().filter_map(|step| step.get("run")?.as_str());
        text.extend(runs.map(|run| format!("{run}\n")));
    }
    let scripts: Vec<_> = std::fs::read_dir(&folder).expect("scripts").collect();
    for script in &scripts {
        let path = script.as_ref().expect("readable").path();
        let script = std::fs::read_to_string(&path).expect("UTF-8");
        let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
        let runs = text.contains(&*format!(".github/{}", named(&path, "scripts/")));
        assert!(!runs || mode & 0o111 == 0o111 && script.starts_with("#!"), "{path:?}");
        text += &script;
    }
    for script in scripts {
        let path = script.expect("readable").path();
        assert!(text.contains(&named(&path, "/")), "{path:?} is used by nothing");
    }
    for named in text.split(".github/scripts/").skip(1) {
        let name = named.split([' ', '\n', '"', ')']).next().expect("a name");
        assert!(folder.join(name).is_file(), "{name} is not there");
    }
}

fn named(path: &Path, before: &str) -> String {
    format!("{before}{}", path.file_name().expect("a name").to_str().expect("UTF-8"))
}

/// The schedule's run, and the run that it starts for the other branch.
const NIGHTLY: &str = "NIGHTLY=github.event_name == 'schedule' || inputs.nightly";

/// The variables that the scripts read, and where each one comes from.
#[test]
fn steps_hand_on_what_the_scripts_read() {
    let workflow = Workflow::read();
    for (name, expected) in [
        ("Read the list of precisions", &["PRECISIONS=inputs.precision || 'fp32,fp64,bf16'"][..]),
        ("Provision libtorch", &[]),
        (
            "Measure the base branch",
            &[
                "BEFORE=github.event.before",
                "DEFAULT_BRANCH=github.event.repository.default_branch",
                NIGHTLY,
            ],
        ),
        ("Measure the change", &["NOT_COMPARED=steps.base.outputs.not_compared"]),
        (
            "Confirm regressions",
            &[
                "BROKEN_BASE=steps.base.outputs.broken",
                "NOT_COMPARED=steps.base.outputs.not_compared",
            ],
        ),
        (
            "Comment on the pull request",
            &[
                "GITHUB_TOKEN=github.token",
                "HEAD_SHA=github.event.pull_request.head.sha",
                "PULL_REQUEST=github.event.pull_request.number",
                "RESULT=needs.bench.result == 'success' && needs.targets.result || needs.bench.result",
            ],
        ),
        (
            "Compare the target with the base branch",
            &[
                "BEFORE=github.event.before",
                "DEFAULT_BRANCH=github.event.repository.default_branch",
                NIGHTLY,
            ],
        ),
        ("Open or update the issue", &["GITHUB_TOKEN=github.token", NIGHTLY]),
        ("Start the run of the other branch", &["GITHUB_TOKEN=github.token"]),
        ("Commit the results to benchmarks/history", &[]),
    ] {
        let variable = |(name, text): (&String, &String)| {
            format!("{name}={}", text.trim_start_matches("${{ ").trim_end_matches(" }}"))
        };
        let found: Vec<String> = workflow.step(name).env.iter().map(variable).collect();
        assert_eq!(found, expected, "{name}");
    }
    let row = &workflow.jobs["bench"];
    assert_eq!(words(row.env.keys()), ["BACKEND", "ITERATIONS", "PRECISION"]);
    assert_eq!(row.env["BACKEND"], "${{ matrix.backend }}");
    assert_eq!(row.env["PRECISION"], "${{ matrix.precision }}");
    // The scripts of the other jobs are given the uploaded files.
    let uploaded = row.steps.last().expect("steps");
    assert_eq!(uploaded.input("path"), "reports");
    assert_eq!(words(workflow.jobs["targets"].env.keys()), ["RUNS", "TARGET"]);
    assert_eq!(workflow.jobs["targets"].env["TARGET"], "${{ matrix.target }}");
    for script in ["comment", "history", "issue"] {
        let steps = &workflow.jobs[script].steps;
        let run = format!(".github/scripts/{script}.sh results");
        assert_eq!(steps.last().and_then(|step| step.run.as_ref()), Some(&run));
        let download = &steps[steps.len() - 2];
        assert_eq!(download.action(), Some("actions/download-artifact"));
        assert_eq!(
            (download.input("path"), download.input("pattern")),
            ("results".to_owned(), "benchmark-results-*".to_owned())
        );
    }
}

/// An expression may name any output; one that nothing sets is empty, and says so to nobody.
#[test]
fn outputs_are_those_of_the_jobs_steps_and_of_needed_jobs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |file: &str| std::fs::read_to_string(root.join(file)).expect(file);
    let text: Value = serde_yaml::from_str(&read(".github/workflows/bench.yml")).expect("YAML");
    for (name, job) in &Workflow::read().jobs {
        let text = serde_yaml::to_string(&text["jobs"][name.as_str()]).expect("it was YAML");
        for used in text.split("steps.").skip(1) {
            let mut words = used.split(['.', ' ', ')']);
            let (id, output) = (words.next(), words.nth(1).expect("steps.ID.outputs.NAME"));
            let step = job.steps.iter().find(|step| step.id.as_deref() == id);
            let run = step.and_then(|step| step.run.as_deref());
            let run = run.unwrap_or_else(|| panic!("{name}: no step {id:?} sets an output"));
            let script = if run.starts_with(".github/") { read(run) } else { run.to_owned() };
            assert!(script.contains(&format!("{output}=")), "{name}: {id:?} sets no {output}");
        }
        for used in text.split("needs.").skip(1) {
            let needed = used.split('.').next().expect("a job");
            assert!(job.needs.jobs().contains(&needed), "{name}: {needed}");
        }
    }
}

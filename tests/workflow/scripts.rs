//! The scripts around the measuring, with results that are made up.

use std::fs;

use serde_json::{Value, json};

use crate::file::Workflow;
use crate::github::{Request, Server, TOKEN};
use crate::place::{Ended, ScriptFolder};

/// The files that a row uploads.
pub fn uploaded(place: &ScriptFolder, row: &str, files: &[(&str, &str)]) {
    let folder = format!("project/results/benchmark-results-{row}");
    fs::create_dir_all(place.path(&folder)).expect("make a folder");
    for (file, text) in files {
        place.write(&format!("{folder}/{file}"), text);
    }
}

const MARKER: &str = "<!-- criterion-torch kernels -->";

/// Runs the script beside a GitHub that gives these answers: how it ended, and what it asked.
fn comment(
    place: &mut ScriptFolder,
    result: &str,
    answers: Vec<(u16, Value)>,
) -> (Ended, Vec<Request>) {
    let answers = answers.into_iter().map(|(status, body)| match body {
        Value::String(text) => (status, text),
        body => (status, body.to_string()),
    });
    let server = Server::answering(answers.collect());
    for (name, value) in [
        ("GITHUB_API_URL", server.url.as_str()),
        ("GITHUB_SERVER_URL", "https://github.test"),
        ("GITHUB_REPOSITORY", "owner/project"),
        ("GITHUB_RUN_ID", "42"),
        ("GITHUB_TOKEN", TOKEN),
        ("PULL_REQUEST", "7"),
        ("HEAD_SHA", "0123456789abcdef"),
        ("RESULT", result),
    ] {
        place.set(name, value);
    }
    let ended = place.run("comment.sh results");
    let requests = server.requests();
    let authorized = |it: &Request| it.authorization == format!("Bearer {TOKEN}");
    assert!(requests.iter().all(authorized), "{requests:?}");
    (ended, requests)
}

/// The text of the comment that a request writes.
fn body(request: &Request) -> String {
    let body: Value = serde_json::from_str(&request.body).expect("the request has JSON");
    body["body"].as_str().expect("a comment has a text").to_owned()
}

pub fn lines(requests: &[Request]) -> Vec<&str> {
    requests.iter().map(|it| it.line.as_str()).collect()
}

/// The pages on which the script looks for its comment.
const PAGES: [&str; 3] = [
    "GET /repos/owner/project/issues/7/comments?per_page=100&page=1",
    "GET /repos/owner/project/issues/7/comments?per_page=100&page=2",
    "GET /repos/owner/project/issues/7/comments?per_page=100&page=3",
];

/// Others' comments, which quote ours.
fn of_others(count: usize) -> Vec<Value> {
    let other = |id| json!({"id": id, "user": {"type": "User"}, "body": format!("{MARKER}\n{id}")});
    (0..count).map(other).collect()
}

#[test]
fn there_is_one_comment_and_it_is_updated() {
    let mut place = ScriptFolder::new();
    let regressions = r#"{"regressions": [{"full_id": "a", "kind": "latency"}]}"#;
    uploaded(
        &place,
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
        &place,
        "cuda-fp32",
        &[
            ("verdict.md", "nothing measured here: no GPU\n"),
            ("summary.md", "all skipped\n"),
            ("summary.json", r#"{"successful": 0}"#),
            ("regressions.md", "none\n"),
            ("regressions.json", r#"{"regressions": []}"#),
        ],
    );
    uploaded(&place, "cuda-fp64", &[]);
    let answers = vec![
        (200, json!(of_others(100))),
        (200, json!(of_others(20))),
        (200, json!([])),
        (201, json!({})),
    ];
    let (ended, requests) = comment(&mut place, "failure", answers);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    let [one, two, three] = PAGES;
    let create = "POST /repos/owner/project/issues/7/comments";
    assert_eq!(lines(&requests), [one, two, three, create]);
    let first = body(&requests[3]);
    assert!(first.starts_with(MARKER), "{first}");
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
    uploaded(
        &place,
        "cpu-fp32",
        &[("verdict.md", "nothing regressed\n"), ("regressions.json", r#"{"regressions": []}"#)],
    );
    let mut comments = of_others(20);
    comments.push(json!({"id": 1120, "user": {"type": "Bot"}, "body": first}));
    let answers = vec![(200, json!(of_others(100))), (200, json!(comments)), (200, json!({}))];
    let (ended, requests) = comment(&mut place, "success", answers);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    let update = "PATCH /repos/owner/project/issues/comments/1120";
    assert_eq!(lines(&requests), [one, two, update]);
    let second = body(&requests[2]);
    assert!(second.contains("**success**;") && !second.contains("# Slower"), "{second}");
    assert!(second.contains("\n- cpu-fp32: nothing regressed\n"), "{second}");
}

#[test]
fn a_long_comment_keeps_every_verdict_and_the_row_that_failed() {
    let mut place = ScriptFolder::new();
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
        uploaded(&place, row, &files);
    }
    let of_last = [
        ("verdict.md", "**regressed twice**: `a` (latency)"),
        ("confirmed.md", "Regressed twice in a row\n"),
        ("regressions.md", "| a | slower |\n"),
        ("regressions.json", r#"{"regressions": [{"full_id": "a", "kind": "latency"}]}"#),
    ];
    uploaded(&place, rows[5], &of_last);
    let answers = vec![(200, json!([])), (201, json!({}))];
    let (ended, requests) = comment(&mut place, "failure", answers);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    let comment = body(&requests[1]);
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
    let mut place = ScriptFolder::new();
    uploaded(&place, "cpu-fp32", &[("summary.md", "# Leaders\n")]);
    let may_not = json!({"message": "Resource not accessible by integration"});
    let answers = vec![(200, json!([])), (403, may_not)];
    let (ended, _) = comment(&mut place, "success", answers);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    assert!(ended.summary.starts_with("This token may not comment"), "{}", ended.summary);
    assert!(ended.summary.contains("# Leaders"), "{}", ended.summary);

    // A proxy between us and GitHub may answer in another language.
    for (status, answer, error) in [
        (401, json!({"message": "Bad credentials"}), "the comments cannot be read: HTTP 401"),
        (200, json!("<html>all is well</html>"), "the comments cannot be understood: HTTP 200"),
        (200, json!({"message": "no list"}), "the comments cannot be understood: HTTP 200"),
    ] {
        let (ended, requests) = comment(&mut place, "success", vec![(status, answer)]);
        assert_eq!((ended.code, requests.len()), (Some(1), 1), "{}", ended.said);
        assert!(ended.said.contains(&format!("::error::{error}")), "{}", ended.said);
    }
    let answers = vec![(200, json!([])), (500, json!({}))];
    let (ended, _) = comment(&mut place, "success", answers);
    assert!(ended.said.contains("::error::the comment cannot be written: HTTP 500"));
}

/// A hook of the repository on the server.
fn when_pushed_to(place: &ScriptFolder, script: &str) {
    place.write_script("origin.git/hooks/pre-receive", &format!("#!/bin/sh\n{script}"));
}

/// The first push finds that somebody else was faster.
const MOVED_MEANWHILE: &str = r#"
if test -e moved; then exit 0; fi
touch moved
unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
export GIT_AUTHOR_NAME=other GIT_AUTHOR_EMAIL=other@localhost
export GIT_COMMITTER_NAME=other GIT_COMMITTER_EMAIL=other@localhost
moved=$(git commit-tree -p main -m 'moved meanwhile' 'main^{tree}')
git update-ref refs/heads/main "$moved"
"#;

/// The script in a clone of main as it is on the server; where that was, and how the script ended.
fn history(place: &mut ScriptFolder) -> (String, Ended) {
    place.git(&["fetch", "--quiet", "origin"]);
    place.git(&["reset", "--quiet", "--hard", "origin/main"]);
    let main = place.git(&["rev-parse", "HEAD"]);
    place.set("GITHUB_SHA", &main);
    let ended = place.run("history.sh results");
    (main, ended)
}

#[test]
fn results_become_history_though_main_has_moved() {
    let mut place = ScriptFolder::new();
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
    uploaded(&place, "cpu-fp32", &[("summary.json", &measured), ("summary.md", "# Leaders")]);
    uploaded(&place, "cuda-fp32", &[("summary.json", r#"{"successful": 0}"#)]);
    uploaded(&place, "cuda-fp64", &[("summary.md", "no summary.json")]);

    // Somebody pushes while the job is at work.
    when_pushed_to(&place, MOVED_MEANWHILE);
    let (main, ended) = history(&mut place);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    assert!(ended.said.contains("main has moved, attempt 1"), "{}", ended.said);
    place.git(&["fetch", "--quiet", "origin"]);
    let file = place.git(&["ls-tree", "-r", "--name-only", "origin/main", "benchmarks/history"]);
    let text = place.git(&["show", &format!("origin/main:{file}")]);
    assert_eq!(text.lines().count(), 1, "compact: {text}");
    assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), kept);
    let shape = |text: &str| text.replace(|it: char| it.is_ascii_digit(), "0");
    let expected =
        format!("benchmarks/history/benchmark-00000000-000000-{}-cpu-fp00.json", shape(&main[..8]));
    assert_eq!(shape(&file), expected);
    let log = place.git(&["log", "--format=%s", "origin/main"]);
    let expected =
        format!("benchmarks: history of {} [skip ci]\nmoved meanwhile\nfirst", &main[..8]);
    assert_eq!(log, expected);

    // If nothing was measured, nothing is committed.
    let row = place.path("project/results/benchmark-results-cpu-fp32");
    fs::remove_dir_all(row).expect("remove a folder");
    let (main, ended) = history(&mut place);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    assert!(ended.said.contains("nothing to commit"), "{}", ended.said);
    place.git(&["fetch", "--quiet", "origin"]);
    assert_eq!(place.git(&["rev-parse", "origin/main"]), main);

    // Neither what is no summary nor a refusal is taken for something else.
    uploaded(&place, "cpu-fp32", &[("summary.json", "{")]);
    let (_, ended) = history(&mut place);
    assert_eq!(ended.code, Some(1));
    assert!(ended.said.contains("::error::cpu-fp32: results/"), "{}", ended.said);
    // Another commit: in the same second the file's name would exist already.
    uploaded(&place, "cpu-fp32", &[("summary.json", &measured.replace("c0ffee", "decade"))]);
    when_pushed_to(&place, "echo main is protected >&2\nexit 1\n");
    let (_, ended) = history(&mut place);
    assert_eq!(ended.code, Some(1));
    assert!(ended.said.contains("main is protected"), "{}", ended.said);
    assert!(ended.said.contains("could not be pushed to, and has not moved"), "{}", ended.said);
    assert!(!ended.said.contains("attempt"), "{}", ended.said);
}

#[test]
fn precisions_are_a_list_of_words() {
    let (workflow, mut place) = (Workflow::read(), ScriptFolder::new());
    let step = workflow.step("Read the list of precisions").run.as_ref().expect("it runs");
    for (text, list) in [
        ("fp32,fp64,bf16", Some(r#"["fp32","fp64","bf16"]"#)),
        ("fp32, bf16 ", Some(r#"["fp32","bf16"]"#)),
        ("fp32\"]; exit", None),
        ("$(touch injected)", None),
        ("", None),
    ] {
        place.set("PRECISIONS", text);
        let ended = place.bash(step);
        assert_eq!(ended.code == Some(0), list.is_some(), "{text}: {}", ended.said);
        let expected = list.map(|list| format!("list={list}\n")).unwrap_or_default();
        assert_eq!(ended.output, expected, "{text}");
    }
    assert!(!place.path("project/injected").exists());
}

#[test]
fn a_base_that_cannot_be_measured_is_said() {
    let mut place = ScriptFolder::new();
    place.set("DEFAULT_BRANCH", "main");
    // The files and output of the step if no base can be measured: there is no Rust in here.
    let measure_base = |place: &mut ScriptFolder, event: &str, before: &str| {
        place.set("NIGHTLY", "false");
        place.set("GITHUB_EVENT_NAME", event);
        place.set("BEFORE", before);
        let ended = place.run("measure_base.sh");
        assert_eq!(ended.code, Some(0), "nothing to compare with is no error: {}", ended.said);
        ended
    };
    place.git(&["fetch", "--quiet", "origin"]);
    let ended = measure_base(&mut place, "push", &"0".repeat(40));
    assert_eq!(ended.output, "not_compared=there is no earlier commit\n");
    let said = "::warning::not compared: there is no earlier commit";
    assert!(ended.said.contains(said), "{}", ended.said);

    place.commit("second");
    place.commit("third");
    place.push();
    let commit = |name: &str| place.git(&["rev-parse", name]);
    let (parent, first) = (commit("HEAD~1"), commit("HEAD~2"));
    // Before a push that was; before what was forced away, or before a branch that is new, the
    // parent; the same for a run by hand on main, and for a pull request, which is a merge.
    let unknown = "1234567812345678123456781234567812345678";
    for (event, before, base) in [
        ("push", first.as_str(), &first),
        ("push", unknown, &parent),
        ("workflow_dispatch", "", &parent),
        ("pull_request", "", &parent),
    ] {
        let ended = measure_base(&mut place, event, before);
        let expected =
            format!("not_compared=the base, {}, has no `cargo xtask kernels`\n", &base[..8]);
        assert_eq!(ended.output, expected, "{event}");
    }
}

//! The issue about regressions, as runs of several branches leave it one after the other.

use serde_json::{Value, json};

use crate::github::{Request, Server, TOKEN};
use crate::place::{Ended, ScriptFolder};
use crate::scripts::{lines, uploaded};

const MARKER: &str = "<!-- criterion-torch regressions develop -->";

/// A page on which the script looks for its issue.
fn list(page: usize) -> String {
    let query = "state=open&labels=benchmark&per_page=100";
    format!("GET /repos/owner/project/issues?{query}&page={page}")
}

/// The script beside a GitHub that gives these answers: how it ended, and what it asked.
fn issue(place: &mut ScriptFolder, answers: Vec<(u16, Value)>) -> (Ended, Vec<Request>) {
    let answers = answers.into_iter().map(|(status, body)| (status, body.to_string()));
    let server = Server::answering(answers.collect());
    place.set("GITHUB_API_URL", &server.url);
    let ended = place.run("issue.sh results");
    let requests = server.requests();
    let authorized = |it: &Request| it.authorization == format!("Bearer {TOKEN}");
    assert!(requests.iter().all(authorized), "{requests:?}");
    (ended, requests)
}

/// A push to `develop`.
fn place() -> ScriptFolder {
    let mut place = ScriptFolder::new();
    for (name, value) in [
        ("GITHUB_SERVER_URL", "https://github.test"),
        ("GITHUB_REPOSITORY", "owner/project"),
        ("GITHUB_RUN_ID", "42"),
        ("GITHUB_TOKEN", TOKEN),
        ("GITHUB_SHA", "0123456789abcdef"),
        ("GITHUB_REF_NAME", "develop"),
        ("GITHUB_EVENT_NAME", "push"),
        ("NIGHTLY", "false"),
    ] {
        place.set(name, value);
    }
    place
}

fn verdict(place: &ScriptFolder, row: &str, text: &str) {
    uploaded(place, row, &[("verdict.md", text), ("regressions.md", "# nothing of interest\n")]);
}

fn regressed(place: &ScriptFolder, row: &str, case: &str) {
    let verdict = format!("**regressed in 8 runs of each side**: `{case}` (slower)\n");
    let table = format!("| {case} | slower |\n");
    uploaded(place, row, &[("verdict.md", &verdict), ("regressions.md", &table)]);
}

/// The update that a run sends if our issue is open with this text.
fn update(place: &mut ScriptFolder, open: &str) -> Value {
    let open = json!([{"number": 9, "user": {"type": "Bot"}, "body": open}]);
    let (ended, requests) = issue(place, vec![(200, open), (200, json!({}))]);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    assert_eq!(lines(&requests), [list(1), "PATCH /repos/owner/project/issues/9".to_owned()]);
    let sent: Value = serde_json::from_str(&requests[1].body).expect("JSON");
    assert_eq!(sent.get("labels"), None, "people may have changed them");
    sent
}

/// The text behind the marker and the line about the last run, which are taken off; and that line.
fn parts(sent: &Value) -> (String, String) {
    let text = sent["body"].as_str().expect("a text");
    let (marker, rest) = text.split_once('\n').expect("lines");
    assert_eq!(marker, MARKER);
    let (last, rest) = rest.split_once('\n').expect("lines");
    (last.strip_prefix("Last run: ").expect("the last run").to_owned(), rest.to_owned())
}

/// The text of the issue that a run opens whose row `cpu-fusion` regressed.
fn opened(place: &mut ScriptFolder) -> String {
    regressed(place, "cpu-fusion", "a");
    let (ended, requests) = issue(place, vec![(200, json!([])), (201, json!({}))]);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    let sent: Value = serde_json::from_str(&requests[1].body).expect("JSON");
    sent["body"].as_str().expect("a text").to_owned()
}

#[test]
fn regressions_open_one_issue_of_their_branch() {
    let mut place = place();
    verdict(&place, "cuda-fp32", "nothing measured here: no GPU\n");
    verdict(&place, "cpu-fp32", "nothing regressed\n");
    // The issue of another branch, others' issues, and pull requests, which GitHub lists as issues.
    let others = json!([
        {"number": 1, "user": {"type": "User"}, "body": MARKER},
        {"number": 2, "user": {"type": "Bot"}, "body": null},
        {"number": 3, "user": {"type": "Bot"}, "body": MARKER, "pull_request": {}},
        {"number": 4, "user": {"type": "Bot"}, "body": MARKER.replace("develop", "main")}
    ]);
    let (ended, requests) = issue(&mut place, vec![(200, others.clone()), (200, json!([]))]);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    assert_eq!(lines(&requests), [list(1), list(2)], "a quiet branch leaves that of another alone");
    assert!(ended.said.contains("nothing regressed"), "{}", ended.said);

    regressed(&place, "cpu-fusion", "a");
    let answers = vec![(200, others), (200, json!([])), (201, json!({}))];
    let (ended, requests) = issue(&mut place, answers);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    let create = "POST /repos/owner/project/issues";
    assert_eq!(lines(&requests), [list(1), list(2), create.to_owned()]);
    let opened: Value = serde_json::from_str(&requests[2].body).expect("JSON");
    assert_eq!(opened["title"], "Benchmarks @ develop 01234567");
    assert_eq!(opened["labels"], json!(["benchmark", "automated"]));
    let run = "(https://github.test/owner/project/actions/runs/42)";
    let (last, text) = parts(&opened);
    assert_eq!(
        last,
        format!("0123456789abcdef (push), [its results]{run}: see below for what regressed.")
    );
    let expected = format!(
        "\n## Regressed at 0123456789abcdef (push)\n\n[The run and its artifacts]{run} on `develop`.\n\n\
         - cpu-fp32: nothing regressed\n\
         - cpu-fusion: **regressed in 8 runs of each side**: `a` (slower)\n\
         - cuda-fp32: nothing measured here: no GPU\n\n\
         <details><summary>cpu-fusion</summary>\n\n| a | slower |\n\n</details>\n"
    );
    assert_eq!(text, expected);
}

/// It is compared with a commit that has regressed already, so that it proves nothing about it.
#[test]
fn a_later_run_keeps_what_regressed() {
    let mut place = place();
    let open = opened(&mut place);
    let (_, before) = parts(&json!({ "body": open }));
    place.set("GITHUB_SHA", "fedcba9876543210");
    place.set("GITHUB_RUN_ID", "43");
    place.set("GITHUB_EVENT_NAME", "workflow_dispatch");
    place.set("NIGHTLY", "true");
    let run = "fedcba9876543210 (nightly), \
               [its results](https://github.test/owner/project/actions/runs/43)";
    verdict(&place, "cpu-fusion", "nothing regressed in 8 runs of each side\n");
    let sent = update(&mut place, &open);
    assert_eq!(sent.get("title"), None, "it names the commit that regressed");
    assert_eq!(parts(&sent), (format!("{run}: nothing regressed."), before.clone()));

    // Silence of a row that was not compared is no proof either, and is told.
    for unknown in [
        "the change could not be measured to the end: exit code 139",
        "regressions could not be measured again: the base ended with exit code 2",
        "not compared: nothing but results was committed since the night before",
        "could not be compared with 01234567: exit code 2",
    ] {
        verdict(&place, "cpu-fp32", &format!("{unknown}\n"));
        let (last, text) = parts(&update(&mut place, &open));
        let told = "it is unknown whether these rows regressed";
        assert_eq!(last, format!("{run}: {told}: cpu-fp32: {unknown}."));
        assert_eq!(text, before);
    }
    uploaded(&place, "cpu-fp64", &[("verdict.md", "")]);
    let (last, _) = parts(&update(&mut place, &open));
    assert!(last.ends_with("; cpu-fp64: ended without a word."), "{last}");

    std::fs::remove_dir_all(place.path("project/results")).expect("rows");
    let (last, text) = parts(&update(&mut place, &open));
    assert_eq!((last, text), (format!("{run}: no row left results."), before));
}

#[test]
fn another_regression_stands_above_the_earlier_ones() {
    let mut place = place();
    let open = opened(&mut place);
    let (_, before) = parts(&json!({ "body": open }));
    // Run again, a run replaces what it said; so it does when a person has written above it in a browser.
    let by_hand =
        open.replacen("\n\n##", "\n\nIt is the allocator.\n\n##", 1).replace('\n', "\r\n");
    let (_, again) = parts(&update(&mut place, &by_hand));
    assert_eq!(again, format!("\nIt is the allocator.\n{before}"));

    place.set("GITHUB_SHA", "fedcba9876543210");
    place.set("GITHUB_RUN_ID", "43");
    verdict(&place, "cpu-fusion", "nothing regressed in 8 runs of each side\n");
    regressed(&place, "cpu-training", "b");
    let sent = update(&mut place, &open);
    assert_eq!(sent["title"], "Benchmarks @ develop fedcba98");
    let (_, both) = parts(&sent);
    let newer = both.strip_suffix(&before).unwrap_or_else(|| panic!("{both}"));
    assert!(newer.starts_with("\n## Regressed at fedcba9876543210 (push)\n"), "{newer}");
    assert!(newer.contains("| b | slower |") && !newer.contains("| a | slower |"), "{newer}");

    // GitHub takes 65536 characters, of which the newest have the first right.
    let long = format!("{open}{}", "x".repeat(59_500));
    for open in [long.clone(), sent["body"].as_str().expect("a text").to_owned() + &long] {
        let sent = update(&mut place, &open);
        let text = sent["body"].as_str().expect("a text");
        assert!(text.len() < 65_536, "{}", text.len());
        let told =
            "\n\nWhat regressed before had no room here: see the earlier edits of this text.";
        assert!(text.ends_with(told), "{}", &text[text.len() - 200..]);
        assert_eq!(text.matches(told).count(), 1);
        // It stays true, and is no part of the last regression.
        let next = update(&mut place, text);
        let next = next["body"].as_str().expect("a text");
        assert!(next.ends_with(told) && next.matches(told).count() == 1, "{next}");
    }
}

#[test]
fn an_issue_that_cannot_be_read_or_written_is_an_error() {
    let mut place = place();
    let (ended, _) = issue(&mut place, vec![(403, json!({"message": "no"}))]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.said.contains("::error::the issues cannot be read: HTTP 403"), "{}", ended.said);
    let (ended, _) = issue(&mut place, vec![(200, json!({"message": "no list"}))]);
    assert!(ended.said.contains("::error::the issues cannot be understood"), "{}", ended.said);
    regressed(&place, "cpu-fusion", "a");
    let (ended, _) = issue(&mut place, vec![(200, json!([])), (422, json!({"message": "no"}))]);
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.said.contains("::error::the issue cannot be written: HTTP 422"),
        "{}",
        ended.said
    );
}

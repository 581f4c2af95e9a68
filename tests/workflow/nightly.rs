//! The runs at night: what they compare with, and how the branch gets its run that no schedule is for.

use serde_json::{Value, json};

use crate::github::{Server, TOKEN};
use crate::place::{Ended, ScriptFolder};
use crate::scripts::lines;

#[test]
fn at_night_the_night_before_is_compared_with() {
    let mut place = ScriptFolder::new();
    place.write("project/.cargo/config.toml", "");
    let commit = |place: &ScriptFolder, age: &str| {
        place.git(&["add", "--all"]);
        let date = place.bash(&format!("date --utc --date='{age} ago' +%s")).said;
        let date = format!("@{} +0000", date.trim());
        let mut variables = String::new();
        for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            variables += &format!("export {name}='{date}'\n");
        }
        let identity = "-c user.name=test -c user.email=test@localhost";
        let made = place.bash(&format!(
            "{variables}git {identity} commit --quiet --allow-empty --message '{age}'"
        ));
        assert_eq!(made.code, Some(0), "{}", made.said);
        place.git(&["rev-parse", "HEAD"])
    };
    // The clone's first commit is of now, so the branch begins anew.
    place.git(&["checkout", "--quiet", "--orphan", "nights"]);
    commit(&place, "5 days");
    let night_before = commit(&place, "2 days");
    place.set("GITHUB_EVENT_NAME", "schedule");
    place.set("NIGHTLY", "true");
    place.set("BEFORE", "");
    place.set("DEFAULT_BRANCH", "main");
    let nothing = "not_compared=nothing but results was committed since the night before\n";
    assert_eq!(place.run("measure_base.sh").output, nothing);
    // The last night's run committed what it measured, a few hours after its start.
    place.write("project/benchmarks/history/benchmark-1-cpu-fp32.json", "{}");
    commit(&place, "20 hours");
    assert_eq!(place.run("measure_base.sh").output, nothing);
    place.write("project/src/lib.rs", "// changed");
    commit(&place, "3 hours");
    commit(&place, "1 hour");
    let ended = place.run("measure_base.sh");
    let short = &night_before[..8];
    let expected = format!("not_compared=the base, {short}, has no `cargo xtask kernels`\n");
    assert_eq!(ended.output, expected);
    // The run that the schedule starts for the other branch is one by hand.
    place.set("GITHUB_EVENT_NAME", "workflow_dispatch");
    assert_eq!(place.run("measure_base.sh").output, expected);
}

/// The script on the default branch, beside a GitHub that gives these answers: how it ended, and what it asked,
/// each with what it sent.
fn start(default_branch: &str, answers: Vec<(u16, Value)>) -> (Ended, Vec<(String, String)>) {
    let answers = answers.into_iter().map(|(status, body)| (status, body.to_string()));
    let server = Server::answering(answers.collect());
    let mut place = ScriptFolder::new();
    for (name, value) in [
        ("GITHUB_API_URL", server.url.as_str()),
        ("GITHUB_REPOSITORY", "owner/project"),
        ("GITHUB_TOKEN", TOKEN),
        ("GITHUB_REF_NAME", default_branch),
    ] {
        place.set(name, value);
    }
    let ended = place.run("nightly.sh");
    let requests = server.requests();
    let bodies = requests.iter().map(|it| it.body.clone());
    (ended, lines(&requests).into_iter().map(str::to_owned).zip(bodies).collect())
}

#[test]
fn the_branch_that_no_schedule_is_for_gets_its_run_at_night() {
    let post = "POST /repos/owner/project/actions/workflows/bench.yml/dispatches";
    for (default_branch, other, status) in [("main", "develop", 204), ("develop", "main", 200)] {
        let answers = vec![(200, json!({"name": other})), (status, json!({}))];
        let (ended, asked) = start(default_branch, answers);
        assert_eq!(ended.code, Some(0), "{}", ended.said);
        let [(branch, _), (line, sent)] = &asked[..] else { panic!("{asked:?}") };
        assert_eq!(*branch, format!("GET /repos/owner/project/branches/{other}"));
        assert_eq!(line, post);
        let sent: Value = serde_json::from_str(sent).expect("JSON");
        assert_eq!(sent, json!({"ref": other, "inputs": {"nightly": "true"}}));
    }
    let (ended, asked) = start("main", vec![(404, json!({"message": "Branch not found"}))]);
    assert_eq!((ended.code, asked.len()), (Some(0), 1), "{}", ended.said);
    assert!(ended.said.contains("there is no branch develop"), "{}", ended.said);
    for (answers, error) in [
        (vec![(500, json!({}))], "whether there is a branch develop cannot be asked: HTTP 500"),
        (
            vec![(200, json!({})), (422, json!({"message": "Unexpected inputs"}))],
            "the nightly run of develop cannot be started: HTTP 422",
        ),
    ] {
        let (ended, _) = start("main", answers);
        assert_eq!(ended.code, Some(1), "{}", ended.said);
        assert!(ended.said.contains(&format!("::error::{error}")), "{}", ended.said);
    }
}

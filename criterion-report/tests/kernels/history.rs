//! Trends over earlier runs.

use super::*;

/// A run at a moment, whose summary goes to the history.
fn keep(history: &Path, name: &str, seconds: u64, ns: u64) {
    let fixture = run(seconds, ns);
    let folder = Folder::with(&fixture);
    folder.written(&[]);
    fs::copy(folder.path("reports/summary.json"), history.join(name)).expect("copied");
}

fn run(seconds: u64, ns: u64) -> Fixture {
    Fixture::of_kernels(&[Make("gemv", "kernel", Float32, Cpu, ns)])
        .edit("", |it| it.record.timestamp = fixture::ENDED + seconds)
}

#[test]
fn medians_stand_in_the_order_of_the_runs() {
    let folder = Folder::with(&run(400, 1_200_000));
    let history = folder.path("history");
    fs::create_dir(&history).expect("created");
    // The names say nothing of the order; the last is the run of now, and is not counted twice.
    keep(&history, "c.json", 100, 1_000_000);
    keep(&history, "a.json", 200, 800_000);
    keep(&history, "b.json", 400, 1_200_000);
    fs::write(history.join("torn.json"), "{\"schema\":").expect("written");
    fs::write(history.join("newer.json"), r#"{"schema":"criterion-torch/kernels","version":9}"#)
        .expect("written");
    fs::write(history.join("readme.md"), "# not looked at").expect("written");
    let output = folder.run(&["--history", "history"]);
    assert_eq!(output.status.code(), Some(2), "the rest is written all the same");
    insta::assert_snapshot!(err(&output), @r"
    error: --history: history/newer.json: schema `criterion-torch/kernels`, version 9, but this criterion-report reads `criterion-torch/kernels`, version 1
    error: --history: history/torn.json: not a summary.json of `criterion-report kernels`: EOF while parsing a value at line 1 column 10
    ");
    let summary = folder.text("reports/summary.md");
    let trends = summary.split("## Trends\n").nth(1).expect("the section");
    insta::assert_snapshot!("trends", trends);
}

#[test]
fn a_history_of_another_machine_is_none() {
    let folder = Folder::with(&run(400, 1_200_000).edit("", |it| {
        it.record.environment_mut().host.cpus = 64;
    }));
    let history = folder.path("history");
    fs::create_dir(&history).expect("created");
    keep(&history, "a.json", 100, 1_000_000);
    folder.written(&["--history", "history"]);
    let summary = folder.text("reports/summary.md");
    assert!(summary.contains("No case of now has a time in an earlier run"), "{summary}");
}

/// The jobs of one push may end in the same second, each with kernels of its own.
#[test]
fn runs_of_one_moment_do_not_hide_each_other() {
    use criterion_report::compare::Estimate;
    use criterion_report::views::kernels::{Past, Point, trends};
    let past = |timestamp: &str, ids: &[(&str, f64)]| Past {
        commit: None,
        timestamp: timestamp.to_owned(),
        points: ids
            .iter()
            .map(|&(id, median_ns)| Point {
                full_id: id.to_owned(),
                host: Some("a".to_owned()),
                status: "measured".to_owned(),
                time: Some(Estimate::of_interval(median_ns, None, 0.95)),
                ..Point::default()
            })
            .collect(),
    };
    let history = [
        past("1", &[("x", 1.0)]),
        past("1", &[("y", 2.0)]),
        past("2", &[("y", 7.0)]),
        past("2", &[("x", 3.0), ("y", 4.0)]),
    ];
    let found = trends(&history, &past("2", &[("x", 3.0), ("y", 4.0)]));
    let medians: Vec<Vec<f64>> =
        found.iter().map(|it| it.medians.iter().map(|(_, ns)| *ns).collect()).collect();
    assert_eq!(medians, [[1.0, 3.0], [2.0, 4.0]]);
}

/// Runs git in a folder, which has to succeed.
fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(folder)
        .args(["-c", "user.name=test", "-c", "user.email=test@localhost"])
        .args(["-c", "protocol.file.allow=always"])
        .args(arguments)
        .output()
        .expect("git can be run");
    assert!(output.status.success(), "git {arguments:?}: {}", err(&output));
    stdout(&output).trim_end().to_owned()
}

/// A repository whose branch main has a history of three pushes, the second of them by another machine.
fn repository(folder: &Path) -> String {
    git(folder, &["init", "--quiet", "--initial-branch=main"]);
    let history = folder.join("benchmarks/history");
    fs::create_dir_all(&history).expect("created");
    let runs = [(100, 1_000_000, 8), (200, 10, 64), (300, 1_000_000, 8)];
    for (push, (seconds, ns, cpus)) in runs.into_iter().enumerate() {
        let made = Folder::with(&run(seconds, ns).edit("", |it| {
            let environment = it.record.environment_mut();
            environment.host.cpus = cpus;
            environment.git_revision = Some(format!("{push}00000000000"));
        }));
        made.written(&[]);
        let name = format!("benchmark-2026112{push}-120000-{push}0000000-cpu-fp32.json");
        fs::copy(made.path("reports/summary.json"), history.join(name)).expect("copied");
    }
    fs::write(history.join("benchmark-20270101-torn.json"), "{").expect("written");
    fs::write(history.join("README.md"), "# Results").expect("written");
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "--message", "history"]);
    git(folder, &["rev-parse", "HEAD"])
}

/// The current results, on the first machine.
fn now() -> Folder {
    Folder::with(&run(400, 2_000_000).edit("", |it| it.record.environment_mut().host.cpus = 8))
}

#[test]
fn a_branch_is_compared_with_by_the_history_that_it_holds() {
    let folder = now();
    let commit = repository(&folder.path(""));
    let output = folder.run(&["--compare-to", "main", "--fail-on", "regression"]);
    assert_eq!(output.status.code(), Some(2), "a file of the history is torn: {}", err(&output));
    assert!(err(&output).contains("benchmarks/history/benchmark-20270101-torn.json"));
    let used = format!(
        "benchmarks/history/benchmark-20261122-120000-20000000-cpu-fp32.json of main at {}",
        &commit[..12]
    );
    assert!(stdout(&output).contains(&format!("\ncompared with {used}\n")), "{}", stdout(&output));
    let changes = folder.json("reports/regressions.json");
    assert_eq!(changes["baseline"], "main");
    assert_eq!(changes["baseline_source"], used);
    assert_eq!(changes["baseline_revisions"], serde_json::json!(["200000000000"]));
    assert_eq!(changes["regressions"][0]["kind"], "latency");
    assert_eq!(changes["regressions"][0]["change"], 1.0, "twice as slow");
    let page = folder.text("reports/regressions.md");
    assert!(page.contains("The earlier results are benchmarks/history/"), "{page}");

    // A saved baseline of the name comes first.
    let saved = run(100, 2_000_000).edit("", |it| it.record.environment_mut().host.cpus = 8);
    saved.write_in(&folder.path(""), "main");
    let output = folder.run(&["--compare-to", "main"]);
    let revisions = &folder.json("reports/regressions.json")["baseline_revisions"];
    let revision = revisions[0].as_str().expect("the fixture's revision");
    let used = format!(
        "\ncompared with the saved baseline main in criterion-torch, measured at {revision}\n"
    );
    assert!(stdout(&output).contains(&used), "{}", stdout(&output));
    assert_eq!(folder.json("reports/regressions.json")["baseline_source"], Value::Null);
    // A path is no name.
    fs::create_dir(folder.path("earlier")).expect("created");
    saved.write_in(&folder.path("earlier"), "new");
    let output = folder.run(&["--compare-to", "earlier"]);
    let used = format!("\ncompared with earlier, measured at {revision}\n");
    assert!(stdout(&output).contains(&used), "{}{}", stdout(&output), err(&output));
}

#[test]
fn of_another_machine_the_latest_is_taken_and_not_compared() {
    let folder = Folder::with(&run(400, 2_000_000).edit("", |it| {
        it.record.environment_mut().host.cpus = 96;
    }));
    repository(&folder.path(""));
    folder.run(&["--compare-to", "main"]);
    let changes = folder.json("reports/regressions.json");
    assert_eq!(changes["baseline_revisions"], serde_json::json!(["200000000000"]));
    assert_eq!(changes["regressions"], serde_json::json!([]));
    assert!(changes["not_compared"][0]["reason"].is_string(), "{changes}");
}

#[test]
fn a_shallow_clone_of_another_branch_fetches_what_it_lacks() {
    let origin = tempfile::tempdir().expect("a temporary folder");
    let commit = repository(origin.path());
    git(origin.path(), &["checkout", "--quiet", "-b", "topic"]);
    git(origin.path(), &["rm", "-r", "--quiet", "benchmarks"]);
    git(origin.path(), &["commit", "--quiet", "--message", "no history"]);
    let folder = now();
    let url = format!("file://{}", origin.path().display());
    git(&folder.path(""), &["clone", "--quiet", "--depth=1", "--branch=topic", &url, "clone"]);
    for name in ["criterion", "criterion-torch"] {
        fs::rename(folder.path(name), folder.path("clone").join(name)).expect("moved");
    }
    let run = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_criterion-report"))
            .args(["kernels", "--criterion-dir", "criterion"])
            .args(arguments)
            .current_dir(folder.path("clone"))
            .output()
            .expect("the program starts")
    };
    let output = run(&["--compare-to", "main"]);
    let said = format!("of main, just fetched from origin, at {}", &commit[..12]);
    assert!(stdout(&output).contains(&said), "{}{}", stdout(&output), err(&output));
    assert_eq!(git(&folder.path("clone"), &["rev-list", "--count", "FETCH_HEAD"]), "1");

    // The branch that is checked out is known, and has no history.
    let output = run(&["--compare-to", "topic"]);
    assert_eq!(output.status.code(), Some(2));
    let said = "`topic` is a branch, origin/topic at ";
    assert!(err(&output).contains(said), "{}", err(&output));
    assert!(err(&output).contains("without a folder benchmarks/history"), "{}", err(&output));
    let output = run(&["--compare-to", "nowhere"]);
    assert!(err(&output).contains("`nowhere` cannot be compared"), "{}", err(&output));

    // Silence of origin is no answer.
    let gone = ["remote", "set-url", "origin", "/gone/away"];
    git(&folder.path("clone"), &gone);
    let output = run(&["--compare-to", "main"]);
    assert_eq!(output.status.code(), Some(2));
    for part in [
        "`main` is no saved baseline, and whether origin has a branch of that name is unknown",
        "git fetch origin main:refs/remotes/origin/main",
        "'/gone/away' does not appear to be a git repository",
    ] {
        assert!(err(&output).contains(part), "{part}: {}", err(&output));
    }
    git(&folder.path("clone"), &["remote", "remove", "origin"]);
    let output = run(&["--compare-to", "main"]);
    assert!(err(&output).contains("`main` cannot be compared"), "{}", err(&output));
}

//! Trends over earlier runs.

use super::*;

/// A run at a moment, whose summary goes to the history.
fn keep(history: &Path, name: &str, seconds: u64, ns: u64) {
    let fixture = run(seconds, ns);
    let folder = Folder::of(&fixture);
    folder.written(&[]);
    fs::copy(folder.path("reports/summary.json"), history.join(name)).expect("copied");
}

fn run(seconds: u64, ns: u64) -> Fixture {
    Fixture::of(&[Make("gemv", "kernel", Float32, Cpu, ns)])
        .edit("", |it| it.record.timestamp = fixture::ENDED + seconds)
}

#[test]
fn medians_stand_in_the_order_of_the_runs() {
    let folder = Folder::of(&run(400, 1_200_000));
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
    let folder = Folder::of(&run(400, 1_200_000).edit("", |it| {
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
    use criterion_report::model::compare::Estimate;
    use criterion_report::model::kernels::{Past, Point, trends};
    let past = |timestamp: &str, ids: &[(&str, f64)]| Past {
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

//! Several runs under one name: one row per case, of all of them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{SEVERAL_RUNS, copied, fixture, try_report, write, write_on};
use criterion_report::cli::writer::Writer;
use criterion_report::export::Format;
use criterion_report::export::csv;
use criterion_report::model::{BetweenRuns, Caution, Entry};
use criterion_report::read::Report;
use criterion_report::views::show;
use insta::assert_snapshot;
use plan::Record;
use statistics::{Floor, Processor, Run, RunMedian, runs_ratio, sides_ratio};

fn report(name: &str, baseline: &str) -> Report {
    try_report(name, baseline, "").expect("a readable fixture")
}

fn show() -> Writer {
    Writer::Show(show::Options::default())
}

fn entry<'a>(report: &'a Report, variant: &str) -> Entry<'a> {
    let mut entries = report.entries();
    entries.find(|entry| entry.row.record.case.id.variant == variant).expect("a case")
}

/// The candidate's records of the three runs.
fn records() -> Vec<Record> {
    let record = |run: u64| {
        let file = format!("criterion-torch/main@{run}/inference.jsonl");
        let text = fs::read_to_string(fixture("several-runs").join(file)).expect("readable");
        serde_json::from_str(text.lines().nth(1).expect("a line")).expect("a record")
    };
    (1..=3).map(record).collect()
}

#[test]
fn whole_outputs() {
    for name in SEVERAL_RUNS {
        let report = report(name, "main");
        assert_snapshot!(format!("show-{name}"), write(&show(), &report));
        assert_snapshot!(
            format!("csv-{name}"),
            write(&Writer::Csv(csv::Options::default()), &report)
        );
        assert_snapshot!(format!("bmf-{name}"), write(&Writer::Export(Format::Bmf), &report));
    }
}

#[test]
fn the_speed_up_is_that_of_the_runs() {
    let report = report("several-runs", "main");
    assert_eq!(report.run_names, ["main@1", "main@2", "main@3"]);
    assert_eq!(report.entries().count(), 2, "one row per case");
    let comparison = entry(&report, "int8wo").comparison.expect("a candidate is compared");
    let speedup = comparison.speedup.as_ref().expect("there is a pair");
    let pairs: Vec<_> = records().into_iter().map(|record| record.pairs[0].clone()).collect();
    let runs: Vec<Run> = pairs
        .iter()
        .map(|pair| Run {
            ratio: pair.speedup,
            within: pair.within.expect("known"),
            builds: 8,
            visits: 1,
            on: Processor::Cpu,
        })
        .collect();
    let expected = runs_ratio(&runs).expect("three runs");
    assert_eq!(speedup.as_ratio(), expected.ratio);
    assert_eq!(speedup.runs, Some(BetweenRuns { count: 3, between: expected.between }));
    assert_eq!((speedup.blocks, speedup.levels.builds), (48, Some(24)));
    assert!(speedup.covers_runs());
    let said = Caution::of_speedup(speedup)[0].to_string();
    assert!(said.contains("runs differ by σ 1.8 %") && said.contains("--repeat 6"), "{said}");
}

#[test]
fn the_time_is_that_of_a_side_of_as_many_runs() {
    let of_name = report("several-runs", "main");
    let runs = [1, 2, 3].map(|run| report("several-runs", &format!("main@{run}")));
    let of_runs: Vec<RunMedian> = runs
        .iter()
        .map(|report| {
            let result = entry(report, "int8wo").row.criterion.as_ref().expect("a time");
            RunMedian::from_samples(&result.samples.steps_ns().collect::<Vec<_>>())
                .expect("enough samples")
        })
        .collect();
    let one = [RunMedian { ln_median: 0.0, variance: 0.0 }];
    let nothing = Floor { sigma: 0.0, freedom: f64::INFINITY };
    let expected = sides_ratio(&of_runs, &one, nothing).expect("both sides").ratio;
    let time = entry(&of_name, "int8wo").row.time.expect("a time");
    let interval = time.interval.expect("an interval");
    assert_eq!((time.median_ns, time.samples), (expected.ratio, 30));
    assert_eq!((interval.low, interval.high), (expected.low, expected.high));
    // Three medians say less than the ten samples of each.
    let of_one = entry(&runs[0], "int8wo").row.time.expect("a time");
    assert!(interval.half_width(time.median_ns) > 0.05, "{interval:?}");
    assert!(of_one.interval.expect("an interval").half_width(of_one.median_ns) < 0.02);
}

#[test]
fn one_of_the_runs_can_still_be_had_alone() {
    let report = report("several-runs", "main@3");
    assert_eq!(report.run_names, [""; 0]);
    let speedup = entry(&report, "int8wo").comparison.expect("compared").speedup.clone();
    assert_eq!(speedup.expect("a pair").ratio, records()[2].pairs[0].speedup);
    assert!(!write(&show(), &report).contains("\nruns "));
}

#[test]
fn a_case_that_failed_in_a_run_says_so() {
    let report = report("failed-in-one-run", "main");
    let failed = entry(&report, "int8wo");
    let note = "failed in 1 of 3 runs: inaccurate: 8.1 dB signal-to-noise ratio is below the gate of \
                20.0 dB";
    assert!(failed.cautions().iter().any(|it| it.to_string() == note), "{:?}", failed.cautions());
    assert_eq!(entry(&report, "baseline").row.failures_in_runs().count(), 0);
    let speedup = failed.comparison.expect("compared").speedup.as_ref().expect("two pairs");
    assert_eq!(speedup.runs.map(|runs| runs.count), Some(2));
    let strict = report.unmeasured();
    assert_eq!(strict, [(failed.row.full_id().to_owned(), note.to_owned())]);
    assert!(write_on(Some(80), &show(), &report).contains("failed in 1 of 3 runs"));
}

/// A folder like the fixture, changed in one run.
fn changed(change: impl Fn(&Path)) -> tempfile::TempDir {
    let folder = copied("several-runs");
    change(folder.path());
    folder
}

fn read(folder: &Path) -> Report {
    let location = criterion_report::read::Location::at(folder.join("criterion"));
    Report::read(&location, "main", Default::default()).expect("readable")
}

/// Replaces a piece of the records of the second run.
fn replace(folder: &Path, from: &str, to: &str) {
    let file = folder.join("criterion-torch/main@2/inference.jsonl");
    let text = fs::read_to_string(&file).expect("readable");
    assert!(text.contains(from), "{from}");
    fs::write(file, text.replace(from, to)).expect("written");
}

#[test]
fn a_run_without_a_record_a_time_or_a_pair_of_a_case_says_so() {
    let cautions = |folder: &tempfile::TempDir| {
        let report = read(folder.path());
        let cautions = entry(&report, "int8wo").cautions();
        cautions.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let missing = changed(|folder| {
        let file = folder.join("criterion-torch/main@2/inference.jsonl");
        let text = fs::read_to_string(&file).expect("readable");
        fs::write(file, text.lines().next().expect("a line")).expect("written");
    });
    let said = cautions(&missing);
    assert!(said.contains("missing in 1 of 3 runs: run 20261120T135000Z-422 ended"), "{said}");
    let stale = changed(|folder| {
        replace(folder, r#""last_sample":{"iters":8,"#, r#""last_sample":{"iters":9,"#)
    });
    let said = cautions(&stale);
    assert!(said.contains("no time in 1 of 3 runs: stale: criterion's estimate"), "{said}");
    let pairless = changed(|folder| {
        replace(folder, r#""pairs":[{"against":"inference"#, r#""pairs":[{"against":"other"#)
    });
    let said = cautions(&pairless);
    assert!(said.contains("no speed-up in 1 of 3 runs: it was not measured in pairs"), "{said}");
}

/// Their times have no mean; their speed-ups have, since a pair is of one machine.
#[test]
fn a_run_on_another_machine_says_so_and_its_time_does_not_count() {
    let moved = changed(|folder| replace(folder, r#""cpus":2,"#, r#""cpus":64,"#));
    let report = read(moved.path());
    let entry = entry(&report, "int8wo");
    let cautions: Vec<String> = entry.cautions().iter().map(ToString::to_string).collect();
    let said = cautions.join("\n");
    assert!(said.contains("on another machine in 1 of 3 runs: "), "{said}");
    assert_eq!(entry.row.time.expect("a time").samples, 20, "of the two others");
    let speedup = entry.comparison.expect("compared").speedup.as_ref().expect("pairs");
    assert_eq!(speedup.runs.map(|runs| runs.count), Some(3));
}

#[test]
fn blocks_of_older_records_show_their_own_spread() {
    let older = changed(|folder| {
        for run in 1..=3 {
            let file = folder.join(format!("criterion-torch/main@{run}/inference.jsonl"));
            let text = fs::read_to_string(&file).expect("readable");
            let lines = text.lines().map(|line| {
                let mut record: Record = serde_json::from_str(line).expect("a record");
                for pair in &mut record.pairs {
                    (pair.builds, pair.within, pair.between) = (0, None, None);
                }
                serde_json::to_string(&record).expect("serialises") + "\n"
            });
            fs::write(file, lines.collect::<String>()).expect("written");
        }
    });
    let report = read(older.path());
    let speedup =
        *entry(&report, "int8wo").comparison.expect("compared").speedup.as_ref().expect("pairs");
    assert_eq!((speedup.levels.builds, speedup.levels.within), (None, None));
    let blocks = |record: &Record| {
        let found = statistics::builds_ratio(&record.pairs[0].log_ratios, 1, 1, Processor::Cpu)
            .expect("blocks");
        let ratio = record.pairs[0].speedup;
        Run { ratio, within: found.within, builds: 1, visits: 1, on: Processor::Cpu }
    };
    let runs: Vec<Run> = records().iter().map(blocks).collect();
    assert_eq!(speedup.as_ratio(), runs_ratio(&runs).expect("three runs").ratio);
}

/// A file of several runs counts as that many runs, not as one with their samples.
#[test]
fn a_file_of_several_runs_is_a_side_of_as_many() {
    let folder = changed(|_| {});
    let run = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_criterion-report"))
            .args(args)
            .args(["--criterion-dir", "criterion"])
            .current_dir(folder.path())
            .output()
            .expect("the program starts");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    run(&["export", "json", "--baseline", "main", "--output", "main.json"]);
    let text = run(&["compare", "main", "main.json", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for side in ["a", "b"] {
        assert_eq!(document[side]["launches"].as_array().map(Vec::len), Some(3), "{document}");
    }
}

//! Shards of two machines: each row keeps its own, with its calibration, and their times do not meet.

use criterion_report::read::{Location, Report, Selection};
use criterion_report::views::explain::Explainer;
use insta::assert_snapshot;

use crate::merge::fixture::{ONE, Shard, Sweep, TWO, text};

fn two_machines() -> Sweep {
    let (first, second) = (Shard::first(ONE).calibrated(), Shard::second(TWO).calibrated());
    Sweep::with_shards(&[("1", &first), ("2", &second)])
}

#[test]
fn every_row_names_its_machine() {
    let sweep = two_machines();
    assert_snapshot!(sweep.merge(&["1", "2"]));
    let (code, out, err) = sweep.report(&["show", "--strict"]);
    assert_eq!((code, &*err), (Some(0), ""), "{out}");
    assert_snapshot!(out);
    let (_, csv, _) = sweep.report(&["csv"]);
    let machines: Vec<&str> =
        csv.lines().map(|line| line.rsplit('"').nth(1).unwrap_or(line)).collect();
    let [one, two] = ["AMD EPYC 7763, 2 CPUs, 8 GiB", "Intel Xeon 8480+, 2 CPUs, 8 GiB"];
    assert!(csv.lines().next().is_some_and(|heading| heading.ends_with(",machine")), "{csv}");
    assert_eq!(machines[1..], [one, one, two, two], "{csv}");
    let (_, markdown, _) = sweep.report(&["export", "markdown"]);
    assert!(markdown.contains("| machine |"), "{markdown}");
    assert_eq!(markdown.matches(two).count(), 2, "{markdown}");
}

#[test]
fn one_machine_needs_no_column() {
    let sweep = Sweep::with_shards(&[("1", &Shard::first(ONE)), ("2", &Shard::second(ONE))]);
    sweep.merge(&["1", "2"]);
    for args in [&["show"][..], &["export", "markdown"]] {
        let (_, out, _) = sweep.report(args);
        assert!(!out.contains("machines "), "{out}");
        assert!(!out.contains("| machine |"), "{out}");
    }
    let (_, csv, _) = sweep.report(&["csv"]);
    assert!(csv.lines().next().is_some_and(|heading| !heading.ends_with(",machine")), "{csv}");
}

/// The calibrations of two machines have the same ids.
#[test]
fn every_row_has_the_limits_of_its_own_machine() {
    let sweep = two_machines();
    sweep.merge(&["1", "2"]);
    let report = sweep.merged();
    assert_eq!(report.entries().count(), 4, "calibrations that are not planned are no rows");
    let explainer = Explainer::new(&report);
    let limits = report.entries().map(|entry| {
        let explanation = explainer.explain(&entry).expect("a time");
        let limit = explanation.limit.expect("its machine is calibrated");
        let used = explanation.calibration.expect("the same").machine;
        (used, limit.bandwidth_gbps.expect("a bandwidth").round())
    });
    let [one, two] = ["AMD EPYC 7763, 2 CPUs, 8 GiB", "Intel Xeon 8480+, 2 CPUs, 8 GiB"];
    let expected = [(one, 10.0), (one, 10.0), (two, 40.0), (two, 40.0)];
    let expected = expected.map(|(machine, gbps)| (machine.to_owned(), gbps));
    assert_eq!(limits.collect::<Vec<_>>(), expected);
}

/// They are results like others: `calibration` makes a profile of each.
#[test]
fn the_calibration_of_each_machine_is_a_folder_of_results() {
    let sweep = two_machines();
    sweep.merge(&["1", "2"]);
    for (host, gbps) in [("node-1", 10.0), ("node-2", 40.0)] {
        let criterion =
            sweep.path(&format!("merged/criterion-torch/new/machines/{host}/criterion"));
        let location = Location::at(criterion.clone());
        let report = Report::read(&location, "new", Selection::default()).expect("readable");
        assert_eq!((report.entries().count(), report.missing.len()), (2, 0), "{host}");
        let folder = criterion.to_str().expect("text");
        let args = [
            "calibration",
            "--hardware",
            host,
            "--criterion-dir",
            folder,
            "--output",
            "profile.json",
        ];
        let output = sweep.run(&args);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let profile = std::fs::read_to_string(sweep.path("profile.json")).expect("readable");
        let profile: serde_json::Value = serde_json::from_str(&profile).expect("JSON");
        let measured = profile["measured_bandwidth_gbps"].as_f64().expect("a number");
        assert!((measured - gbps).abs() < 0.01, "{measured}");
    }
}

/// Several shards of one machine calibrate it several times: the latest counts, as it does in a folder.
#[test]
fn the_latest_calibration_of_a_machine_counts() {
    let slow = crate::merge::fixture::Machine { gbps: 5.0, ..ONE };
    let (first, second) = (Shard::first(slow).calibrated(), Shard::second(ONE).calibrated());
    let sweep = Sweep::with_shards(&[("1", &first), ("2", &second)]);
    let said = sweep.merge(&["1", "2"]);
    assert!(said.contains("4 cases; calibration of node-1 (2 cases)\n"), "{said}");
    let report = sweep.merged();
    let explainer = Explainer::new(&report);
    for entry in report.entries() {
        let limit = explainer.explain(&entry).and_then(|it| it.limit).expect("a limit");
        assert_eq!(limit.bandwidth_gbps.map(f64::round), Some(10.0), "{}", entry.row.full_id());
    }
}

/// A candidate that was measured again elsewhere keeps its speed-up, and its time is compared with nothing.
#[test]
fn times_of_two_machines_are_not_compared_in_a_report() {
    let elsewhere = Shard::new(3, 3, "int8wo/bf16-64x", TWO).rerun("20261120T160000Z-44", 8_400);
    let sweep = Sweep::with_shards(&[
        ("1", &Shard::first(ONE)),
        ("2", &Shard::second(ONE)),
        ("3", &elsewhere),
    ]);
    sweep.merge(&["1", "2", "3"]);
    let report = sweep.merged();
    let explainer = Explainer::new(&report);
    let mut entries = report.entries();
    let moved = entries.find(|it| it.row.record.environment.host.hostname == "node-2");
    let moved = moved.expect("the later record");
    assert_eq!(moved.speedup().map(|it| it.ratio), Some(2.0), "a pair is of one process");
    let explanation = explainer.explain(&moved).expect("a time");
    assert_eq!(explanation.difference, None);
    let why = explanation.no_difference.expect("a reason");
    assert!(why.starts_with("the baseline ran on another machine: AMD EPYC 7763"), "{why}");
}

#[test]
fn compare_refuses_two_machines_unless_told_otherwise() {
    let sweep = Sweep::with_shards(&[
        ("a1", &Shard::first(ONE)),
        ("a2", &Shard::second(TWO)),
        ("b1", &Shard::first(TWO)),
        ("b2", &Shard::second(ONE)),
    ]);
    sweep.merge(&["a1", "a2"]);
    std::fs::rename(sweep.path("merged"), sweep.path("a")).expect("renamed");
    sweep.merge(&["b1", "b2"]);
    let compare = |b: &str, options: &[&str]| {
        let output = sweep.run(&[&["compare", "a", b], options].concat());
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, _, err) = compare("merged", &[]);
    assert_eq!(code, Some(2));
    assert_snapshot!(err);
    let (code, out, err) = compare("merged", &["--across-hosts", "--all", "--details"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("of two machines: "), "{out}");
    // Cases that ran on the same machines compare, though there are two.
    sweep.merge(&["a1", "a2"]);
    assert_eq!(compare("merged", &[]).0, Some(0));
}

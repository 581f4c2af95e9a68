//! Shards that make up the whole plan, and what reports then say.

use std::fs;

use criterion_report::read::{Location, Report, Selection};
use insta::assert_snapshot;
use plan::Outcome;

use crate::merge::fixture::{ONE, Shard, Sweep, lines};

fn two_shards() -> Sweep {
    Sweep::with_shards(&[("1", &Shard::first(ONE)), ("2", &Shard::second(ONE))])
}

#[test]
fn two_shards_are_one_run() {
    let sweep = two_shards();
    assert_snapshot!(sweep.merge(&["1", "2"]));
    let said = fs::read_to_string(sweep.path("merged/merge.txt")).expect("readable");
    assert!(said.starts_with("merged 4 of 4 planned cases from 2 folders"), "{said}");
    // In the plan's order, whatever the order of the folders, and byte by byte as they were.
    let records = |name: &str| lines(&sweep.path(name).join("criterion-torch/new/inference.jsonl"));
    assert_eq!(sweep.records(), [records("1"), records("2")].concat());
    sweep.merge(&["2", "1"]);
    assert_eq!(sweep.records(), [records("1"), records("2")].concat());
}

#[test]
fn a_merge_equals_one_run_of_the_whole_plan() {
    let whole = Shard::new(1, 1, "", ONE);
    let sweep = Sweep::with_shards(&[
        ("1", &Shard::first(ONE)),
        ("2", &Shard::second(ONE)),
        ("whole", &whole),
    ]);
    sweep.merge(&["1", "2"]);
    let facts = |report: &Report| -> Vec<_> {
        let entries = report.entries();
        let fact = |it: criterion_report::model::Entry<'_>| {
            let speedup = it.speedup().map(|it| it.ratio);
            let time = it.row.time.as_ref().expect("a time").median_ns;
            (it.row.full_id().to_owned(), it.row.record.outcome.clone(), time, speedup)
        };
        entries.map(fact).collect()
    };
    let location = Location::at(sweep.path("whole/criterion"));
    let whole = Report::read(&location, "new", Selection::default()).expect("readable");
    let merged = sweep.merged();
    assert_eq!(facts(&merged), facts(&whole));
    assert_eq!((merged.missing.len(), merged.earlier), (0, 0), "no shard is an earlier run");
    for args in [&["show", "--strict"][..], &["csv", "--strict", "--latest"]] {
        let (code, out, err) = sweep.report(args);
        assert_eq!((code, &*err), (Some(0), ""), "{args:?}");
        let candidates = out.lines().filter(|line| line.contains("int8wo")).count();
        assert_eq!(candidates, 2, "{args:?}: {out}");
    }
}

/// A filter takes a part of the plan: nothing else is missing, and nothing else is merged.
#[test]
fn only_the_filtered_part_of_the_plan_has_to_be_complete() {
    let sweep = two_shards();
    let said = sweep.merge_with(&["1", "2"], &["--filter", "int8wo"]);
    assert!(said.starts_with("exit 0\nmerged 2 of 2 planned cases from 2 folders"), "{said}");
    assert!(!said.contains("unplanned"), "what the filter leaves out is planned: {said}");
    assert!(sweep.records().iter().all(|(id, _)| id.contains("/int8wo/")));
    assert_eq!(sweep.merged().missing.len(), 0);
}

#[test]
fn of_several_records_of_a_case_one_counts() {
    let failed = Outcome::Failed { error: "killed".to_owned() };
    let sweep = Sweep::with_shards(&[
        ("1", &Shard::first(ONE)),
        ("2", &Shard::second(ONE)),
        // Later, and one of its cases failed.
        (
            "1-again",
            &Shard::first(ONE)
                .rerun("20261120T150000Z-43", 4_800)
                .edit(|it| it.end("int8wo", &failed).takes("baseline", 900_000)),
        ),
    ]);
    let copy = sweep.path("2-copied");
    crate::common::copy(&sweep.path("2"), &copy);
    assert_snapshot!(sweep.merge(&["1", "1-again", "2", "2-copied"]));
    let ids: Vec<String> = sweep.records().into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids.len(), 4, "each once: {ids:?}");
    let merged = sweep.merged();
    let time = |variant: &str| {
        let mut entries = merged.entries();
        let is_it = |it: &criterion_report::model::Entry<'_>| {
            it.row.full_id().contains(&format!("/{variant}/bf16-64x"))
        };
        let entry = entries.find(is_it).expect("a case");
        entry.row.time.as_ref().map(|time| time.median_ns).expect("its own estimate")
    };
    assert_eq!((time("baseline"), time("int8wo")), (900_000.0, 500_000.0));
    assert!(merged.entries().all(|it| it.row.outdated.is_none()), "the rule has decided");
}

/// Two containers that start together may give their runs one name.
#[test]
fn two_runs_of_one_name_are_both_kept() {
    let second = Shard::second(ONE);
    let first = Shard::first(ONE).rerun(&second.run_id, 150);
    let sweep = Sweep::with_shards(&[("1", &first), ("2", &second)]);
    sweep.merge(&["1", "2"]);
    let runs = sweep.path("merged/criterion-torch/runs");
    let mut names: Vec<String> = fs::read_dir(&runs)
        .expect("a folder")
        .map(|it| it.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    let run = &second.run_id;
    assert_eq!(
        names,
        [format!("{run}.json"), format!("{run}~2.json"), "merged-inference.json".to_owned()]
    );
    assert_eq!(sweep.report(&["show", "--strict"]).0, Some(0));
}

#[test]
fn merged_results_can_be_merged_again() {
    let sweep = two_shards();
    assert!(sweep.merge(&["1"]).starts_with("exit 1"));
    fs::rename(sweep.path("merged"), sweep.path("half")).expect("renamed");
    let said = sweep.merge(&["half", "2"]);
    assert!(said.starts_with("exit 0\nmerged 4 of 4"), "{said}");
    assert_eq!(sweep.report(&["show", "--strict"]).0, Some(0));
}

/// A shard's own manifest may have the name of the one that a merge adds.
#[test]
fn a_manifest_with_the_name_of_a_merges_own_is_kept_beside_it() {
    let sweep = two_shards();
    let runs = sweep.path("1/criterion-torch/runs");
    let manifest = fs::read_dir(&runs).expect("a folder").next().expect("a run").expect("readable");
    fs::rename(manifest.path(), runs.join("merged-inference.json")).expect("renamed");
    let said = sweep.merge(&["1", "2"]);
    assert!(said.starts_with("exit 0\nmerged 4 of 4"), "{said}");
    let merged = sweep.path("merged/criterion-torch/runs");
    for name in ["merged-inference.json", "merged-inference~2.json"] {
        assert!(merged.join(name).exists(), "{name}");
    }
    assert_eq!(sweep.report(&["show", "--strict"]).0, Some(0));
}

//! Missing, superfluous and unreadable results.

use std::fs;

use insta::assert_snapshot;

use crate::merge::fixture::{ONE, Shard, Sweep};

#[test]
fn a_missing_shard_and_its_cases_are_named() {
    let sweep = Sweep::with_shards(&[("1", &Shard::first(ONE))]);
    fs::create_dir(sweep.path("2")).expect("created");
    assert_snapshot!(sweep.merge(&["1", "2"]));
    // Reports on what was merged know it, too.
    let (code, _, err) = sweep.report(&["show", "--strict"]);
    assert_eq!(code, Some(1));
    assert_eq!(err.matches("no merged folder had a record of it").count(), 2, "{err}");
}

/// A plan that says which shard a case is of says so of the missing ones.
#[test]
fn a_plan_with_shards_says_which_one_is_to_be_run() {
    let sweep = Sweep::with_shards(&[("1", &Shard::first(ONE))]);
    let plan = sweep.path("plan.json");
    let text = fs::read_to_string(&plan).expect("readable");
    let mut cases: Vec<serde_json::Value> = serde_json::from_str(&text).expect("JSON");
    for case in &mut cases {
        let first = case["full_id"].as_str().expect("an id").contains("/bf16-64x");
        case["shard"] = if first { 1 } else { 2 }.into();
    }
    fs::write(&plan, serde_json::to_string(&cases).expect("serialises")).expect("written");
    let said = sweep.merge(&["1"]);
    assert!(said.contains("  in shard 2 of `inference`: 2 cases\n"), "{said}");
}

#[test]
fn a_missing_case_says_why() {
    let reached = Shard::new(2, 2, "baseline/bf16-128x", ONE)
        .unreached(&["inference/sweep/linear/cpu/int8wo/bf16-128x1024x1024"]);
    let sweep = Sweep::with_shards(&[("1", &Shard::first(ONE)), ("2", &reached)]);
    assert_snapshot!(sweep.merge(&["1", "2"]));
}

#[test]
fn a_record_that_cannot_be_read_is_named_and_the_rest_is_merged() {
    let sweep = Sweep::with_shards(&[("1", &Shard::first(ONE)), ("2", &Shard::second(ONE))]);
    let file = sweep.path("2/criterion-torch/new/inference.jsonl");
    let text = fs::read_to_string(&file).expect("readable");
    fs::write(&file, &text[..text.len() - 40]).expect("written");
    assert_snapshot!(sweep.merge(&["1", "2"]));
    assert_eq!(sweep.records().len(), 3);
}

#[test]
fn a_record_of_an_earlier_version_is_no_record() {
    let sweep = Sweep::with_shards(&[("1", &Shard::first(ONE)), ("2", &Shard::second(ONE))]);
    let file = sweep.path("2/criterion-torch/new/inference.jsonl");
    let text = fs::read_to_string(&file).expect("readable");
    fs::write(&file, text.replace("\"version\":2", "\"version\":1")).expect("written");
    let said = sweep.merge(&["1", "2"]);
    assert!(said.starts_with("exit 1\n"), "{said}");
    assert!(said.contains("its record is of an earlier version of criterion-torch"), "{said}");
}

/// A shard that was built of another plan.
#[test]
fn a_case_that_is_not_planned_is_named_and_skipped() {
    let sweep = Sweep::with_shards(&[("1", &Shard::first(ONE)), ("2", &Shard::second(ONE))]);
    let config = fs::read_to_string(sweep.path("sweep.yml")).expect("readable");
    fs::write(sweep.path("sweep.yml"), config.replace(", [128, 1024, 1024]", "")).expect("written");
    let plan = ["plan", "sweep.yml", "--format", "json", "--output", "plan.json"];
    assert!(sweep.run(&plan).status.success());
    assert_snapshot!(sweep.merge(&["1", "2"]));
    assert_eq!(sweep.records().len(), 2);
    let (code, out, err) = sweep.report(&["show", "--strict"]);
    assert_eq!((code, &*err), (Some(0), ""), "nobody misses what is not planned: {out}");
}

#[test]
fn a_measured_case_without_criterions_files_is_named() {
    let sweep = Sweep::with_shards(&[("1", &Shard::first(ONE)), ("2", &Shard::second(ONE))]);
    fs::remove_dir_all(sweep.path("2/criterion")).expect("removed");
    assert_snapshot!(sweep.merge(&["1", "2"]));
    assert_eq!(sweep.report(&["show", "--strict"]).0, Some(1));
}

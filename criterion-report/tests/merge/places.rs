//! Folders, plans and options that are refused, and what takes the place of earlier results.

use std::fs;

use insta::assert_snapshot;

use crate::merge::fixture::{ONE, Shard, Sweep};

fn two_shards() -> Sweep {
    Sweep::with_shards(&[("1", &Shard::first(ONE)), ("2", &Shard::second(ONE))])
}

#[test]
fn merged_results_take_the_place_of_earlier_ones() {
    let sweep = two_shards();
    assert!(sweep.merge(&["1"]).starts_with("exit 1"));
    assert!(sweep.merge(&["1", "2"]).starts_with("exit 0"));
    assert_eq!(sweep.records().len(), 4);
    let mut names: Vec<String> = fs::read_dir(sweep.path("."))
        .expect("a folder")
        .map(|it| it.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        ["1", "2", "merged", "plan.json", "sweep.yml"],
        "nothing is left beside them"
    );
}

#[test]
fn what_is_not_merged_is_not_replaced() {
    let sweep = two_shards();
    let mut said = String::new();
    fs::create_dir(sweep.path("merged")).expect("created");
    fs::write(sweep.path("merged/thesis.txt"), "").expect("written");
    said += &sweep.merge(&["1", "2"]);
    assert!(sweep.path("merged/thesis.txt").exists());
    fs::remove_dir_all(sweep.path("merged")).expect("removed");
    fs::write(sweep.path("merged"), "").expect("written");
    said += &sweep.merge(&["1", "2"]);
    fs::remove_file(sweep.path("merged")).expect("removed");
    // A merge into the folder of its own results would remove them.
    sweep.merge(&["1", "2"]);
    fs::rename(sweep.path("2"), sweep.path("merged/2")).expect("renamed");
    said += &sweep.merge(&["1", "merged/2"]);
    assert_snapshot!(said);
}

#[test]
fn folders_without_results_are_named() {
    let sweep = two_shards();
    let mut said = sweep.merge(&["1", "3"]);
    said += &sweep.merge(&["1", "./1"]);
    fs::create_dir(sweep.path("3")).expect("created");
    said += &sweep.merge(&["3"]);
    said += &sweep.merge_with(&["1"], &["--baseline", "main"]);
    fs::rename(sweep.path("2/criterion-torch/new"), sweep.path("2/criterion-torch/main@1"))
        .expect("renamed");
    said += &sweep.merge_with(&["2"], &["--baseline", "main"]);
    assert_snapshot!(said);
    assert!(!sweep.path("merged").exists());
}

#[test]
fn plans_that_cannot_be_used_are_named() {
    let sweep = two_shards();
    let plan = sweep.path("plan.json");
    let text = fs::read_to_string(&plan).expect("readable");
    let cases: Vec<serde_json::Value> = serde_json::from_str(&text).expect("JSON");
    let twice = serde_json::to_string(&[&cases[0], &cases[0]]).expect("serialises");
    let mut said = sweep.merge_with(&["1"], &["--filter", "int4wo"]);
    for text in ["[]", "{}", "[{\"id\": 1}]", &twice] {
        fs::write(&plan, text).expect("written");
        said += &sweep.merge(&["1"]);
    }
    fs::remove_file(&plan).expect("removed");
    said += &sweep.merge(&["1"]);
    assert_snapshot!(said);
}

#[test]
fn options_of_other_commands_are_refused() {
    let sweep = two_shards();
    let said = sweep.merge_with(&["1", "2"], &["--strict", "--latest", "--criterion-dir", "1"]);
    assert_snapshot!(said, @r"
    exit 2
    --- stderr
    error: `merge` reads the folders that it is given: omit --strict, --latest, --criterion-dir
    ");
    let output = sweep.run(&["merge", "1", "--plan", "plan.json"]);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(err, "error: `merge` writes a folder: name it with --output DIR\n");
}

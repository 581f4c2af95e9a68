//! A merge names every time that it cannot carry over, and what it has carried over stays as it is.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::merge::fixture::{ONE, Shard, Sweep};

const LOST: &str = "inference/sweep/linear/cpu/int8wo/bf16-128x1024x1024";
const FOLDER: &str = "criterion/inference_sweep_linear_cpu/int8wo/bf16-128x1024x1024/new";

fn two_shards() -> Sweep {
    Sweep::with_shards(&[("1", &Shard::first(ONE)), ("2", &Shard::second(ONE))])
}

#[test]
fn a_time_that_is_not_carried_over_is_named() {
    let cut = |path: &Path| {
        let text = fs::read(path).expect("readable");
        fs::write(path, &text[..text.len() / 2]).expect("written");
    };
    type Damage<'d> = (&'d str, &'d dyn Fn(&Path));
    let damages: [Damage<'_>; 6] = [
        ("EOF while parsing", &cut),
        ("EOF while parsing", &|path| fs::write(path, "").expect("written")),
        ("No such file or directory", &|path| fs::remove_file(path).expect("removed")),
        ("not a regular file", &|path| {
            fs::remove_file(path).expect("removed");
            assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
        }),
        ("is a directory", &|path| {
            fs::remove_file(path).expect("removed");
            fs::create_dir(path).expect("created");
        }),
        ("a link, which is not followed", &|path| {
            let elsewhere = path.with_extension("elsewhere");
            fs::rename(path, &elsewhere).expect("renamed");
            symlink(&elsewhere, path).expect("linked");
        }),
    ];
    for name in ["estimates.json", "sample.json"] {
        for (why, damage) in &damages {
            let sweep = two_shards();
            damage(&sweep.path("2").join(FOLDER).join(name));
            let said = sweep.merge(&["1", "2"]);
            assert!(said.starts_with("exit 1\nmerged 4 of 4"), "{name}, {why}: {said}");
            for part in [LOST, &format!("2/{FOLDER}/{name}: "), why] {
                assert!(said.contains(part), "{name}, {why}: {said}");
            }
            let kept = fs::read_to_string(sweep.path("merged/merge.txt")).expect("readable");
            assert!(kept.contains(LOST), "{kept}");
            assert_eq!(sweep.report(&["show"]).0, Some(0), "nothing broken was carried over");
        }
    }
}

/// Another run has written over the shard's estimates since.
#[test]
fn a_time_of_another_run_is_named() {
    let sweep = two_shards();
    let file = sweep.path("2").join(FOLDER).join("sample.json");
    let text = fs::read_to_string(&file).expect("readable");
    let mut sample: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for ns in sample["times"].as_array_mut().expect("times") {
        *ns = (2.0 * ns.as_f64().expect("a number")).into();
    }
    fs::write(&file, sample.to_string()).expect("written");
    let said = sweep.merge(&["1", "2"]);
    assert!(said.starts_with("exit 1\n") && said.contains("stale: "), "{said}");
    assert!(said.contains(&format!("2/{FOLDER}: ")), "{said}");
}

#[test]
fn a_record_with_a_time_counts_before_one_without() {
    let sweep = two_shards();
    crate::common::copy(&sweep.path("2"), &sweep.path("copy"));
    fs::write(sweep.path("2").join(FOLDER).join("estimates.json"), "").expect("written");
    let said = sweep.merge(&["1", "2", "copy"]);
    assert!(said.starts_with("exit 0\n"), "{said}");
    assert_eq!(sweep.report(&["show", "--strict"]).0, Some(0));
}

/// Criterion truncates its files and writes them again.
#[test]
fn measuring_a_shard_again_changes_nothing_that_is_merged() {
    let sweep = two_shards();
    sweep.merge(&["1", "2"]);
    let files = |root: &str| {
        let names = ["benchmark.json", "estimates.json", "sample.json"];
        names.map(|name| sweep.path(root).join(FOLDER).join(name))
    };
    let before = files("merged").map(|file| fs::read(file).expect("carried over"));
    for file in files("2") {
        fs::write(file, "of a later run").expect("written in place");
    }
    assert_eq!(files("merged").map(|file| fs::read(file).expect("there")), before);
    assert_eq!(sweep.report(&["show", "--strict"]).0, Some(0));
}

/// The last record of a shard as a killed process leaves it, and the same case measured again behind it.
#[test]
fn a_torn_line_is_history_once_its_case_is_measured_again() {
    let whole = two_shards();
    let file = "2/criterion-torch/new/inference.jsonl";
    let text = fs::read_to_string(whole.path(file)).expect("readable");
    let (first, last) = text.trim_end().split_once('\n').expect("two records");
    let id = last.find("\"run_id\"").expect("a field");
    for end in [1, 12, 30, id - 12, id + 20, last.len() - 40] {
        let sweep = two_shards();
        let torn = &last[..end];
        let said = |lines: [&str; 3]| {
            fs::write(sweep.path(file), lines.join("\n")).expect("written");
            sweep.merge(&["1", "2"])
        };
        let healed = said([first, torn, last]);
        assert!(healed.starts_with("exit 0\n"), "{torn}: {healed}");
        let show = sweep.run(&["show", "--strict", "--criterion-dir", "2/criterion"]);
        let err = String::from_utf8_lossy(&show.stderr).into_owned();
        assert_eq!((show.status.code(), &*err), (Some(0), ""), "{torn}");
        // Before the record nothing can have replaced it.
        let lost = said([first, last, torn]);
        assert!(lost.starts_with("exit 2\n") && lost.contains("inference.jsonl:3: "), "{lost}");
    }
}

#[test]
fn results_of_several_builds_or_configs_are_merged_only_when_asked_for() {
    type Edit = (&'static str, fn(&mut plan::Record));
    let edits: [Edit; 3] = [
        ("config `sweep` ", |it| it.case.config_hash = "00000000000000ff".to_owned()),
        ("git revision ", |it| it.environment_mut().git_revision = Some("00ff".to_owned())),
        ("libtorch ", |it| it.environment_mut().torch.libtorch = "2.12.0".to_owned()),
    ];
    for (what, edit) in edits {
        let second = Shard::second(ONE).edit(|it| it.edit("", |case| edit(&mut case.record)));
        let sweep = Sweep::with_shards(&[("1", &Shard::first(ONE)), ("2", &second)]);
        let said = sweep.merge(&["1", "2"]);
        assert!(said.starts_with("exit 2\n--- stderr\nerror: "), "{said}");
        for part in [what, " in 1\n", " in 2\n", "--mixed"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(!sweep.path("merged").exists(), "it is refused before anything is written");
        let said = sweep.merge_with(&["1", "2"], &["--mixed"]);
        assert!(
            said.starts_with("exit 0\n") && said.contains(&format!("mixed      {what}")),
            "{said}"
        );
    }
}

#[test]
fn what_an_interrupted_merge_has_left_is_removed_by_the_next() {
    let sweep = two_shards();
    let make = |name: &str, inside: &[&str]| {
        let folder = sweep.path(name);
        fs::create_dir(&folder).expect("created");
        for part in inside {
            fs::create_dir_all(folder.join(part).join("criterion")).expect("created");
        }
        folder
    };
    let (partial, replaced) = (make(".merge.a1.tmp", &["new"]), make(".merge.a2.tmp", &["old"]));
    let in_use = make(".merge.a3.tmp", &["new"]);
    // The only copy of the earlier results.
    let unfinished = make(".merge.a4.tmp", &["new", "old"]);
    let linked = sweep.path(".merge.a5.tmp");
    symlink(sweep.path("1"), &linked).expect("linked");
    let other = make(".merge.a6", &["new"]);
    let held = fs::File::open(&in_use).expect("opened");
    held.lock().expect("locked");
    assert!(sweep.merge(&["1", "2"]).starts_with("exit 0"));
    assert!(!partial.exists() && !replaced.exists());
    for kept in [&in_use, &unfinished, &linked, &other] {
        assert!(kept.exists(), "{}", kept.display());
    }
    drop(held);
    assert!(sweep.merge(&["1", "2"]).starts_with("exit 0"));
    assert!(!in_use.exists(), "its merge has ended");
}

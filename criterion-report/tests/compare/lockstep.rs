//! Two revisions that `compare-branches` has measured in lock-step.

use std::fs;

use plan::lockstep::{Lockstep, LockstepBlock, LockstepCase, LockstepSide, SCHEMA, VERSION, file};

use crate::compare::folder::*;

/// Blocks whose ratios lie around `ratio`, each in a layout of its own; every second layout is `moved` times as slow.
fn blocks(ratio: f64, moved: f64, count: usize) -> Vec<LockstepBlock> {
    let of = |index: usize| {
        let noise = 1.0 + 0.002 * ((index * 7) % 5) as f64 / 5.0;
        let b = 100.0 * ratio * noise * if index % 2 == 1 { moved } else { 1.0 };
        LockstepBlock { layout: index, times: [[100.0, b], [100.0, b * 1.0001]] }
    };
    (0..count).map(of).collect()
}

fn case(full_id: &str, has: [bool; 2], found: usize, blocks: Vec<LockstepBlock>) -> LockstepCase {
    let confirmed_from = (found > 0).then_some(found);
    let (full_id, target) = (full_id.to_owned(), "bench".to_owned());
    LockstepCase { full_id, target, has, blocks, confirmed_from, is_decided: true }
}

/// A folder with the comparison of `main` and `pr`; no benchmark has our plug-in.
fn folder() -> Folder {
    let both = [true, true];
    let cases = vec![
        case("parse/slower", both, 8, blocks(1.05, 1.0, 20)),
        case("parse/faster", both, 8, blocks(0.90, 1.0, 20)),
        case("parse/same", both, 0, blocks(1.0, 1.0, 8)),
        case("parse/unconfirmed", both, 0, blocks(1.05, 1.0, 12)),
        case("parse/moved", both, 0, blocks(0.97, 1.06, 16)),
        case("parse/short", both, 0, blocks(1.05, 1.0, 3)),
        case("parse/gone", [true, false], 0, vec![]),
        case("parse/new", [false, true], 0, vec![]),
    ];
    let side = |name: &str, commit: Option<&str>| LockstepSide {
        name: name.to_owned(),
        commit: commit.map(str::to_owned),
    };
    let document = Lockstep {
        schema: SCHEMA.to_owned(),
        version: VERSION,
        sides: [side("main", Some("0123456789abcdef")), side("pr", None)],
        threshold: 0.01,
        seconds: 60.0,
        cases,
    };
    let folder = Folder::new();
    let file = file(&folder.path("criterion-torch"), ["main", "pr"]);
    fs::create_dir_all(file.parent().expect("it lies in a folder")).expect("a folder");
    fs::write(file, serde_json::to_string(&document).expect("JSON")).expect("written");
    folder
}

const COMPARE: [&str; 5] = ["compare", "main", "pr", "--latency-threshold", "0.01"];

#[test]
fn each_case_has_the_verdict_of_its_blocks() {
    let text = folder().stdout(0, &[&COMPARE[..], &["--all"]].concat());
    insta::assert_snapshot!(text);
}

#[test]
fn the_threshold_is_that_of_the_measurement_unless_another_is_given() {
    let text = folder().stdout(0, &["compare", "main", "pr"]);
    assert!(text.contains("time 1.0 %") && text.contains("regressed (1)"), "{text}");
    let text = folder().stdout(0, &["compare", "main", "pr", "--latency-threshold", "0.2"]);
    assert!(text.contains("time 20.0 %") && !text.contains("regressed"), "{text}");
}

#[test]
fn only_a_confirmed_regression_fails_the_gate() {
    let said = folder().stderr(1, &[&COMPARE[..], &["--fail-on", "regression"]].concat());
    assert!(said.contains("--fail-on regression: 1 case"), "{said}");
    assert!(said.contains("parse/slower: time: 5."), "{said}");
    let said = folder().stderr(1, &[&COMPARE[..], &["--fail-on", "missing"]].concat());
    assert!(said.contains("parse/gone"), "{said}");
}

#[test]
fn the_interval_is_of_the_blocks_that_confirm() {
    let folder = folder();
    let file = file(&folder.path("criterion-torch"), ["main", "pr"]);
    let mut document: Lockstep =
        serde_json::from_str(&fs::read_to_string(&file).expect("text")).expect("a document");
    // The blocks that found it were lucky.
    document.cases[0].blocks.splice(..8, blocks(2.0, 1.0, 8));
    fs::write(&file, serde_json::to_string(&document).expect("JSON")).expect("written");
    let json = folder.json(&COMPARE);
    let cases = json["cases"].as_array().expect("a list");
    let slower = cases.iter().find(|it| it["full_id"] == "parse/slower").expect("it is there");
    let ratio = slower["measures"][0]["ratio"].as_f64().expect("a number");
    assert!((1.045..1.055).contains(&ratio), "{ratio}");
    assert_eq!(slower["verdict"], "regressed");
}

#[test]
fn later_runs_and_other_versions_are_no_surprise() {
    let folder = folder();
    folder.save("main", 1, main_branch);
    let said = folder.stderr(2, &COMPARE);
    assert!(said.contains("was measured in lock-step, and again later: remove"), "{said}");
    let file = file(&folder.path("criterion-torch"), ["main", "pr"]);
    let text = fs::read_to_string(&file).expect("text").replace("\"version\":1", "\"version\":9");
    fs::write(&file, text).expect("written");
    let said = folder.stderr(2, &COMPARE);
    assert!(said.contains("criterion-torch/lockstep 9") && said.contains("again"), "{said}");
}

#[test]
fn the_page_has_each_case_and_no_markup_of_theirs() {
    let folder = folder();
    let file = file(&folder.path("criterion-torch"), ["main", "pr"]);
    let text = fs::read_to_string(&file).expect("text");
    let hostile = text.replace("parse/moved", "parse/</script><img src=x onerror=alert(1)>");
    fs::write(&file, hostile).expect("written");
    let page = folder.stdout(0, &[&COMPARE[..], &["--format", "html"]].concat());
    assert!(page.contains("<h1>pr against main</h1>"), "{page}");
    assert_eq!(page.matches("\"id\":").count(), 8);
    assert!(page.contains(r#""id":"parse/slower","measure":"time","a":"100.0 ns","b":"105.1 ns""#));
    assert!(page.contains("\\u003c/script>") && !page.contains("<img"), "text is no markup");
    assert_eq!(page.matches("</script>").count(), 2);
}

//! Two revisions of a package with kernels, measured in lock-step on libtorch.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::outside::{outside, succeeded};
use crate::{package, saxpy, template};

const FOLDER: &str = "two revisions";

fn git(folder: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=test", "-c", "user.email="]).args(arguments).current_dir(folder);
    succeeded(&git.output().expect("git can be started"));
}

/// The value of a file's line, or of all of it, by the id of its case.
fn of<'v>(cases: impl IntoIterator<Item = &'v Value>, variant: &str) -> &'v Value {
    let is_it = |case: &&Value| case["full_id"].as_str().is_some_and(|it| it.contains(variant));
    cases.into_iter().find(is_it).unwrap_or_else(|| panic!("no {variant}"))
}

/// In the second one a kernel holds twice the memory, and another one computes something else.
#[test]
#[ignore = "long: builds the library from its packaged crates, a minute"]
fn records_of_two_revisions_are_compared_beside_their_times() {
    let outside = outside();
    let kernel = template("benches/kernels/saxpy/kernel.rs");
    let right = ("benches/kernels/off/kernel.rs", kernel.clone());
    let size = ("benches/kernels/off/bench.yaml", crate::SIZE.to_owned());
    let mut files = [package("two-revisions", ""), saxpy(), vec![right, size]].concat();
    outside.put(FOLDER, files.clone());
    let folder = outside.path(FOLDER);
    git(&folder, &["init", "--quiet", "--initial-branch=before"]);
    let commit = |message| {
        git(&folder, &["add", "--all"]);
        git(&folder, &["commit", "--quiet", "--message", message]);
    };
    commit("before");
    git(&folder, &["checkout", "--quiet", "-b", "after"]);
    for (name, from, to) in [
        ("off/kernel.rs", "T::wide(*x) + T::wide(*y)", "T::wide(*x) - T::wide(*y)"),
        (
            "saxpy/torch.rs",
            "self.z = Some(",
            "let x = &examples[0];\n        let more = [x.f_neg()?, x.f_neg()?, x.f_neg()?];\n        \
             drop(self.z.replace(more[0].f_add(&more[1])?.f_add(&more[2])?));\n        self.z = Some(",
        ),
    ] {
        let (_, text) = files.iter_mut().find(|(it, _)| it.ends_with(name)).expect("it is there");
        assert!(text.contains(from), "{text}");
        *text = text.replace(from, to);
        fs::write(folder.join("benches/kernels").join(name), text).expect("writable");
    }
    commit("after");

    // Its checkouts are of an earlier repository.
    outside.remove("target/compare");
    let line = "compare-branches before after --budget 20s --fail-on regression --format json";
    let words: Vec<&str> = line.split(' ').collect();
    let output = outside.measuring_tool(FOLDER, &words).output().expect("it can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let compared: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let compared = compared["cases"].as_array().expect("a list");
    assert_eq!(compared.len(), 3, "{compared:#?}");
    let off = of(compared, "/off/");
    assert_eq!(off["verdict"], "regressed", "{off:#}");
    let torch = of(compared, "/saxpy/cpu/torch/");
    assert_eq!(torch["verdict"], "regressed", "{torch:#}");
    let measures = torch["measures"].as_array().expect("a list");
    let memory = measures.iter().find(|it| it["measure"] == "memory").expect("it is compared");
    assert_eq!(memory["verdict"], "regressed", "{torch:#}");
    let measures = of(compared, "/saxpy/cpu/kernel/")["measures"].as_array().expect("a list");
    let error = measures.iter().find(|it| it["measure"] == "accuracy").expect("it is compared");
    assert_eq!(error["verdict"], "equivalent", "{error:#}");

    // Each side was checked and recorded by one process, and measured by several.
    let results = outside.path("results").join(FOLDER).join("criterion-torch");
    let document = fs::read(results.join("lockstep/before..after.json")).expect("it is kept");
    let document: Value = serde_json::from_slice(&document).expect("JSON");
    let cases = document["cases"].as_array().expect("a list");
    assert_eq!(of(cases, "/off/")["has"], serde_json::json!([true, false]));
    let blocks = of(cases, "/saxpy/cpu/torch/")["blocks"].as_array().expect("a list");
    assert!(!blocks.is_empty(), "{said}");
    for (side, name, status) in [(0, "before", "measured"), (1, "after", "failed")] {
        let runs = format!("target/compare/programs-{side}/criterion-torch/runs");
        let runs = fs::read_dir(outside.path(&runs)).expect("it was made").count();
        assert_eq!(runs, 1, "{name}");
        let records = fs::read_to_string(results.join(format!("{name}@1/torch.jsonl")));
        let records = records.expect("they are kept");
        let records: Vec<Value> =
            records.lines().map(|it| serde_json::from_str(it).expect("JSON")).collect();
        assert_eq!(records.len(), 3, "{name}");
        assert_eq!(of(&records, "/off/")["outcome"]["status"], status, "{name}");
        let kernel = of(&records, "/saxpy/cpu/kernel/");
        assert!(kernel["accuracy"]["rows_checked"].as_u64() > Some(0), "{kernel:#}");
        assert!(kernel["measures"]["memory"].is_object(), "{kernel:#}");
    }
}

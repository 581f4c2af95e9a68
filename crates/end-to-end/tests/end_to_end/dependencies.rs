//! `cargo bench` builds the dev-dependencies of a package with benchmarks, too.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The packages that the root package depends on by such edges.
fn packages(edges: &str) -> BTreeSet<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--locked", "--package", "criterion-torch", "--prefix", "none"]);
    cargo.args(["--format", "{p}", "--edges", edges]);
    cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    let output = cargo.output().expect("cargo can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    // A package that is listed again is marked.
    text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

#[test]
fn cargo_bench_builds_nothing_for_tests_alone() {
    let [all, needed] = ["normal,build,dev", "normal,build"].map(packages);
    let for_tests: Vec<&String> = all.difference(&needed).collect();
    assert!(needed.len() > 50 && for_tests.is_empty(), "{for_tests:?}");
}

//! Every package that is published says what it is and under which licence, and holds nothing that is only ours.

mod common;

use std::process::Command;

use common::{assert_none, root};
use serde_json::Value;

/// Files that every package has.
const FILES: [&str; 4] = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "NOTICE"];

/// Package keys that crates.io shows.
const KEYS: [&str; 6] =
    ["description", "license", "documentation", "readme", "keywords", "categories"];

/// Folders that a package is compiled without.
const OURS: [&str; 6] = ["benches", "configs", "crates", "docs", "fuzz", "tests"];

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output();
    let output = output.expect("cargo runs");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {}:\n{messages}", arguments.join(" "));
    String::from_utf8(output.stdout).expect("cargo writes UTF-8")
}

#[test]
fn packages_are_complete_and_small() {
    let metadata = cargo(&["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&metadata).expect("JSON");
    let packages = metadata["packages"].as_array().expect("a list");
    let published: Vec<&Value> = packages.iter().filter(|it| it["publish"].is_null()).collect();
    assert!(published.len() > 8, "the library, its parts and the tools: {}", published.len());

    let mut faults = Vec::new();
    for package in published {
        let name = package["name"].as_str().expect("a name");
        let is_empty = |key: &&&str| match &package[**key] {
            Value::String(text) => text.is_empty(),
            Value::Array(list) => list.is_empty(),
            _ => true,
        };
        faults.extend(KEYS.iter().filter(is_empty).map(|key| format!("{name}: no `{key}`")));
        let list = cargo(&["package", "--list", "--allow-dirty", "--offline", "--package", name]);
        let files: Vec<&str> = list.lines().collect();
        let lacks = FILES.iter().filter(|file| !files.contains(file));
        faults.extend(lacks.map(|file| format!("{name}: its package lacks {file}")));
        let is_ours = |file: &&&str| OURS.contains(&file.split('/').next().unwrap_or_default());
        let ours = files.iter().filter(is_ours);
        faults
            .extend(ours.map(|file| format!("{name}: its package has {file}, which nobody needs")));
    }
    assert_none(&faults);
}

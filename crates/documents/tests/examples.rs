//! The examples are short, are all listed, and their configs have cases. That they compile, clippy says: they are targets
//! of the workspace.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{assert_none, root};
use plan::Package;
use walkdir::WalkDir;

const FOLDERS: [&str; 4] =
    ["examples", "crates/plan/examples", "crates/statistics/examples", "criterion-report/examples"];

const LONGEST: usize = 40;

fn files() -> Vec<PathBuf> {
    let files = FOLDERS.iter().flat_map(|folder| WalkDir::new(root().join(folder)));
    let files =
        files.map(|entry| entry.expect("readable").into_path()).filter(|path| path.is_file());
    files.filter(|path| path.extension().is_some_and(|it| it == "rs" || it == "yml")).collect()
}

fn is_config(path: &&PathBuf) -> bool {
    path.extension().is_some_and(|it| it == "yml")
}

#[test]
fn examples_are_short() {
    let mut faults = Vec::new();
    for path in files() {
        let text = fs::read_to_string(&path).expect("readable");
        let lines = text.lines().count();
        if lines > LONGEST {
            faults.push(format!("{}: {lines} lines, more than {LONGEST}", path.display()));
        }
        if !text.starts_with("//! ") && !text.starts_with("# ") {
            faults.push(format!("{}: its first line does not say what it shows", path.display()));
        }
    }
    assert_none(&faults);
}

#[test]
fn examples_are_listed() {
    let list = fs::read_to_string(root().join("examples/README.md")).expect("readable");
    for path in files() {
        let inside = path.strip_prefix(root()).expect("in the clone");
        // The folder, if the example is a package.
        let inside: PathBuf = match inside.strip_prefix("examples") {
            Ok(example) => example.iter().take(1).collect(),
            Err(_) => Path::new("..").join(inside),
        };
        assert!(list.contains(&format!("]({})", inside.display())), "{}", path.display());
    }
}

#[test]
fn configs_have_cases() {
    let files = files();
    let configs: Vec<&PathBuf> = files.iter().filter(is_config).collect();
    assert!(configs.len() > 1, "{configs:?}");
    for config in configs {
        let package = Package { folder: &root(), libraries: &[] };
        let plan =
            plan::read(std::slice::from_ref(config), package).and_then(|it| plan::expand(&it));
        let plan = plan.unwrap_or_else(|errors| panic!("{errors}"));
        assert!(plan.cases().count() > 2, "{}", config.display());
    }
}

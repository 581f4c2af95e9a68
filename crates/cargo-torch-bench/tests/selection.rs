//! `compare-branches` in repositories of every form: which packages, bench targets and features it takes.
#![cfg(unix)]

use std::fs;

use serde_json::{Value, json};

use crate::common::repository::Repository;

/// A further bench target of the root package, with these lines in the manifest.
fn bench(repository: &Repository, name: &str, lines: &str, source: &str) {
    let target = format!("[[bench]]\nname = \"{name}\"\nharness = false\n{lines}\n[profile");
    repository.edit_file("Cargo.toml", "[profile", &target);
    repository.put(&format!("benches/{name}.rs"), source);
}

/// The source of a benchmark that can be measured.
fn source(repository: &Repository) -> String {
    fs::read_to_string(repository.source()).expect("it can be read")
}

/// The measured programs, sorted.
fn ids(document: &Value) -> Vec<&str> {
    let cases = document["cases"].as_array().expect("cases").iter();
    let mut ids: Vec<&str> = cases.map(|it| it["full_id"].as_str().expect("an id")).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn a_package_may_be_in_no_workspace() {
    let repository = Repository::new();
    let manifest = fs::read_to_string(repository.clone.join("Cargo.toml")).expect("a manifest");
    let (_, package) = manifest.split_once("[package]").expect("it has a package");
    repository.put("Cargo.toml", &format!("[package]{package}"));
    fs::remove_dir_all(repository.clone.join("criterion-report")).expect("it is installed");
    repository.commit();
    repository.branch("pr", "= 100;", "= 120;");
    let document = "\"${CRITERION_HOME%/*}/criterion-torch/lockstep/$2..$3.json\"";
    repository.scratch.program(
        "criterion-report",
        &format!("case $2 in --help) ;; *) echo \"$*\"; cat {document} ;; esac"),
    );
    let outcome = repository.xtask("compare-branches HEAD~1 . --fail-on missing", &[]);
    let said = &outcome.assert_fine().stdout;
    let (words, document) = said.split_once('\n').expect("two lines");
    assert_eq!(words, "compare HEAD-1 working-tree --latency-threshold 0.01 --fail-on missing");
    let document: Value = serde_json::from_str(document).expect("JSON");
    assert_eq!(document["cases"][0]["blocks"][0]["times"][0], json!([100.0, 120.0]));
    // Cargo has taken the report out of the lock file there.
    let outcome = repository.xtask("compare-branches HEAD . --same -- some", &[]);
    outcome.assert_fine();
}

#[test]
fn cargos_root_may_be_a_folder_of_the_repository() {
    let repository = Repository::new();
    let entries = fs::read_dir(&repository.clone).expect("listed").map(|it| it.expect("an entry"));
    let entries: Vec<_> = entries.map(|it| it.file_name()).collect();
    let inner = repository.clone.join("rust/größer");
    fs::create_dir_all(&inner).expect("made");
    for name in entries.iter().filter(|it| *it != ".git" && *it != ".libtorch") {
        fs::rename(repository.clone.join(name), inner.join(name)).expect("moved");
    }
    let top = repository.clone.clone();
    let repository = Repository { clone: inner, ..repository };
    // Whatever else lies in the repository is there, too.
    repository.edit("u32 = 100;", "u32 = include!(\"../../../time.in\");");
    fs::write(top.join("time.in"), "100").expect("written");
    fs::write(top.join(".gitignore"), "/.libtorch\n").expect("written");
    repository.commit();
    fs::write(top.join("time.in"), "120").expect("written");
    let outcome = repository.xtask("compare-branches main .", &[]);
    assert_eq!(outcome.assert_fine().stdout, "main: 100\nworking-tree: 120\n");
    let measured = repository.measured();
    let commit = repository.git(&["rev-parse", "--short=12", "HEAD"]);
    let folder = format!("1 in HERE/target/compare/{commit}/rust/größer with ");
    assert!(measured[0].starts_with(&folder), "{}", measured[0]);
    assert!(measured[1].starts_with("2 in HERE with "), "{}", measured[1]);
    assert!(!top.join("target").exists());
}

/// Both sides are built with the lock file that lies here.
#[test]
fn a_repository_may_ignore_its_lock_file() {
    let repository = Repository::new();
    repository.put(".gitignore", "/target\n/.libtorch\nCargo.lock\n");
    repository.git(&["rm", "--quiet", "--cached", "Cargo.lock"]);
    repository.commit();
    repository.branch("pr", "= 100;", "= 120;");
    let [here, there] = ["Cargo.lock", "target/compare/build/Cargo.lock"].map(|file| {
        let path = repository.clone.join(file);
        move || fs::read_to_string(&path).expect("a lock file")
    });
    for note in ["# first", "# second"] {
        let text = here().replacen("\nversion", &format!("\n{note}\nversion"), 1);
        repository.put("Cargo.lock", &text);
        let outcome = repository.xtask("compare-branches HEAD~1 pr", &[]);
        assert_eq!(outcome.assert_fine().stdout, "HEAD-1: 100\npr: 120\n");
        assert_eq!(there(), text);
    }
    // A commit that has one is built with its own.
    let outcome = repository.xtask("compare-branches main~1 pr", &[]);
    assert_eq!(outcome.assert_fine().stdout, "main-1: 100\npr: 120\n");
    fs::remove_file(repository.clone.join("Cargo.lock")).expect("removed");
    let outcome = repository.xtask("compare-branches HEAD~1 pr", &[]);
    assert_eq!(outcome.assert_fine().stdout, "HEAD-1: 100\npr: 120\n");
}

#[test]
fn bench_targets_that_cannot_be_measured_are_named() {
    let repository = Repository::new();
    bench(&repository, "plain", "", "fn main() {}\n");
    bench(&repository, "gated", "required-features = [\"off\"]\n", &source(&repository));
    bench(&repository, "usual", "required-features = [\"on\"]\n", &source(&repository));
    let features = "[features]\ndefault = [\"more\"]\nmore = [\"on\"]\non = []\noff = []";
    repository.edit_file("Cargo.toml", "[features]", features);
    repository.commit();

    let plain = "main: plain has no criterion, left out\n";
    let gated = "working-tree: gated needs --features off, left out\n";
    let outcome = repository.xtask("compare-branches main . --same", &[]);
    outcome.assert_fine();
    for said in [plain, gated] {
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    }
    let measured = || repository.document("main..working-tree");
    assert_eq!(ids(&measured()), ["speed/some-case", "usual/some-case"]);
    for (options, expected) in [
        ("--features off", vec!["gated/some-case", "speed/some-case", "usual/some-case"]),
        ("--features on,off --no-default-features --bench gated", vec!["gated/some-case"]),
        ("--no-default-features --features speed/off", vec!["gated/some-case", "speed/some-case"]),
        ("--all-features --bench gated --bench usual", vec!["gated/some-case", "usual/some-case"]),
        ("--no-default-features", vec!["speed/some-case"]),
    ] {
        repository.xtask(&format!("compare-branches main . --same {options}"), &[]).assert_fine();
        assert_eq!(ids(&measured()), expected, "{options}");
    }
    let outcome = repository.xtask("compare-branches main . --same --bench plain", &[]);
    outcome.assert_refused(1, &[plain, "no bench target with criterion in common"]);
    let outcome = repository.xtask("compare-branches main . --same --features nowhere", &[]);
    outcome.assert_refused(2, &["--features nowhere: no package in ", "has it"]);
}

/// Packages of a workspace without one at its root, with bench targets of one name.
#[test]
fn packages_may_have_bench_targets_of_one_name() {
    let repository = Repository::new();
    let (text, source) = (
        fs::read_to_string(repository.clone.join("Cargo.toml")).expect("a manifest"),
        source(&repository),
    );
    let (_, package) = text.split_once("[package]").expect("it has a package");
    let (package, profile) = package.split_once("[profile").expect("it has a profile");
    let members =
        "[workspace]\nresolver = \"3\"\nmembers = [\"criterion-report\", \"one\", \"two\"]\n";
    for name in ["one", "two"] {
        let renamed = package.replacen("name = \"speed\"", &format!("name = \"{name}\""), 1);
        let feature = format!("[features]\nof-{name} = []\n");
        let manifest = format!("[package]{}", renamed.replace("[features]\n", &feature));
        repository.put(&format!("{name}/Cargo.toml"), &manifest);
        repository.put(&format!("{name}/src/lib.rs"), "");
        let source = source.replace("some-case", &format!("{name}-case"));
        repository.put(&format!("{name}/benches/speed.rs"), &source);
    }
    repository.put("Cargo.toml", &format!("{members}\n[profile{profile}"));
    fs::remove_dir_all(repository.clone.join("benches")).expect("removed");
    repository.commit();
    repository.edit_file("two/benches/speed.rs", "= 100;", "= 120;");

    let outcome =
        repository.xtask("compare-branches main . --same --features of-one,two/of-two", &[]);
    assert_eq!(outcome.assert_fine().stdout, "main: 100 100\nworking-tree: 100 120\n");
    let measured = || repository.document("main..working-tree");
    assert_eq!(ids(&measured()), ["speed/one-case", "speed/two-case"]);
    let lines = repository.measured();
    assert!(lines[1].starts_with("2 in HERE/one with "), "{}", lines[1]);
    let second = lines.iter().find(|line| line.contains("HERE/two with "));
    assert!(second.is_some(), "{lines:#?}");
    repository.xtask("compare-branches main . --same -p two --features of-two", &[]).assert_fine();
    assert_eq!(ids(&measured()), ["speed/two-case"]);

    // As cargo bench, it takes the default members if none is named.
    let defaults = "[workspace]\ndefault-members = [\"criterion-report\", \"one\"]\n";
    repository.edit_file("Cargo.toml", "[workspace]\n", defaults);
    repository.commit();
    repository.xtask("compare-branches main . --same", &[]).assert_fine();
    assert_eq!(ids(&measured()), ["speed/one-case"]);
}

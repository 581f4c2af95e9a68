//! `compare-branches` on clones and revisions of every kind.
#![cfg(unix)]

use std::fs;

use crate::common::repository::Repository;

#[test]
fn a_shallow_clone_with_an_odd_path_says_what_it_lacks() {
    let origin = Repository::new();
    origin.branch("pr", "= 100;", "= 120;");
    let url = format!("file://{}", origin.clone.display());
    let clone = origin.scratch.empty().join("größer als nötig");
    let place = clone.display().to_string();
    origin.git(&["clone", "--quiet", "--depth=1", "--branch=pr", &url, &place]);
    let shallow = Repository { clone, ..origin };

    let said = ["there is no commit \"HEAD~1\"", "latest commits only: git fetch --unshallow"];
    shallow.xtask("compare-branches HEAD~1 .", &[]).assert_refused(2, &said);
    shallow.git(&["fetch", "--quiet", "--unshallow"]);
    let outcome = shallow.xtask("compare-branches HEAD~1 .", &[]);
    assert_eq!(outcome.assert_fine().stdout, "HEAD-1: 100\nworking-tree: 120\n");
    let notes = shallow.clone.join("target/compare");
    let commit = shallow.git(&["rev-parse", "--short=12", "HEAD~1"]);
    fs::write(notes.join(commit).join("Änderung"), "mine").expect("work in a worktree");
    let said = ["has changes: ?? Änderung\n"];
    shallow.xtask("compare-branches HEAD~1 .", &[]).assert_refused(1, &said);
}

#[test]
fn a_revision_may_be_called_like_a_file_or_have_no_branch() {
    let repository = Repository::new();
    repository.branch("benches", "= 100;", "= 120;");
    repository.git(&["tag", "--annotate", "--message=one", "v1.0", "main"]);
    repository.git(&["tag", "benches", "main"]);
    let said = ["a branch and a tag \"benches\"", "heads/benches or tags/benches"];
    repository.xtask("compare-branches benches main", &[]).assert_refused(2, &said);
    repository.git(&["tag", "--delete", "benches"]);
    repository.git(&["switch", "--quiet", "--detach", "main"]);
    repository.edit("= 100;", "= 130;");
    let outcome = repository.xtask("compare-branches benches v1.0", &[]);
    assert_eq!(outcome.assert_fine().stdout, "benches: 120\nv1.0: 100\n");
    let outcome = repository.xtask("compare-branches HEAD .", &[]);
    assert_eq!(outcome.assert_fine().stdout, "HEAD: 100\nworking-tree: 130\n");
}

#[test]
fn a_revision_without_the_benchmark_is_named() {
    let repository = Repository::new();
    let manifest = repository.clone.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("read the manifest");
    fs::write(&manifest, text.replace("name = \"speed\"\nharness", "name = \"slow\"\nharness"))
        .expect("rename the benchmark");
    let folder = repository.clone.join("benches");
    fs::rename(folder.join("speed.rs"), folder.join("slow.rs")).expect("rename the benchmark");
    repository.git(&["switch", "--quiet", "--create", "renamed"]);
    repository.commit();
    let said = ["renamed: speed has no bench target speed\n", "no bench target with criterion in"];
    let outcome = repository.xtask("compare-branches main renamed --bench speed", &[]);
    outcome.assert_refused(1, &said);
    let said = [said[0], "main: speed has no bench target slow\n", said[1]];
    repository.xtask("compare-branches main renamed", &[]).assert_refused(1, &said);
    assert!(repository.measured().is_empty());
}

#[test]
fn outside_of_a_repository_git_says_why() {
    let repository = Repository::new();
    fs::remove_dir_all(repository.clone.join(".git")).expect("as in an unpacked archive");
    let said = ["rev-parse", "not a git repository"];
    repository.xtask("compare-branches main .", &[]).assert_refused(1, &said);
}

/// Cargo goes by the configuration above a worktree, too, and so by that of the clone.
#[test]
fn a_configuration_that_reaches_into_the_other_side_is_noted() {
    let repository = Repository::new();
    let path = repository.clone.join(".cargo/config.toml");
    let before = fs::read_to_string(&path).expect("read the configuration");
    let note = "reads both there";
    let outcome = repository.xtask("compare-branches main . --same", &[]);
    assert!(!outcome.assert_fine().stderr.contains(note), "{}", outcome.stderr);
    let text = format!("{before}\n[build]\nrustflags = [\"-Cdebug-assertions\"]\n");
    fs::write(&path, text).expect("change the configuration");
    let outcome = repository.xtask("compare-branches main . --same", &[]);
    assert!(outcome.assert_fine().stderr.contains(note), "{}", outcome.stderr);
}

/// Wherever cargo is told to build, by whatever.
#[test]
fn cargos_configuration_says_where_results_are() {
    let repository = Repository::new();
    let path = repository.clone.join(".cargo/config.toml");
    let before = fs::read_to_string(&path).expect("read the configuration");
    fs::write(&path, format!("{before}\n[build]\ntarget-dir = \"built\"\n")).expect("configure");
    for (runs, removed) in [("3", false), ("1", true)] {
        // An empty variable is none.
        let line = format!("bench --repeat {runs}");
        let outcome = repository.xtask(&line, &[("CRITERION_HOME", "")]);
        let said = &outcome.assert_fine().stderr;
        assert!(said.contains("cargo criterion-report aa base\n"), "the report asks cargo: {said}");
        assert_eq!(said.contains("replace: base@1 to base@3\n"), removed, "{said}");
    }
    let outcome = repository.xtask("compare-branches . . --same", &[]);
    assert_eq!(outcome.assert_fine().stdout, "working-tree-a: 100\nworking-tree-b: 100\n");
    let case = repository.clone.join("built/criterion/speed/some-case");
    assert!(case.join("base@1").exists() && !case.join("base@2").exists());
    let document = "built/criterion-torch/lockstep/working-tree-a..working-tree-b.json";
    assert!(repository.clone.join(document).exists());
    assert!(!repository.clone.join("target").exists());
}

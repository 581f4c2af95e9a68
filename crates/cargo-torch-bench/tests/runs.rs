//! `bench --repeat` and `compare-branches`: the real cargo and git, on a small repository of their own
//! (fixtures/speed) whose benchmark runs in no time.
#![cfg(unix)]

use std::fs;

use crate::common::repository::{Repository, both};

#[test]
fn runs_are_kept_under_their_numbers_and_replace_a_longer_set() {
    let repository = Repository::new();
    let outcome = repository.xtask("bench --repeat 3 -- some --save-baseline pr", &[]);
    outcome.assert_fine();
    let expected = [
        "pr@1 in HERE with HERE/.libtorch: some --bench",
        "pr@2 in HERE with HERE/.libtorch: some --bench",
        "pr@3 in HERE with HERE/.libtorch: some --bench",
    ];
    assert_eq!(repository.measured(), expected);
    assert_eq!(outcome.stdout, "speed of pr@1\nspeed of pr@2\nspeed of pr@3\n");
    assert_eq!(outcome.stderr.matches("Compiling speed").count(), 1, "{}", outcome.stderr);
    for said in ["run 1 of 3 (pr@1)\n", "run 3 of 3 (pr@3), ", "compare OTHER pr\n"] {
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    }
    assert_eq!(repository.kept(), both(&[("pr@1", 100), ("pr@2", 100), ("pr@3", 100)]));

    repository.edit("= 100;", "= 200;");
    let again = repository.xtask("bench --bench speed --repeat=2 -- -s pr", &[]);
    again.assert_fine();
    let said = "removed earlier runs, which these replace: pr@1 to pr@3\n";
    assert!(again.stderr.contains(said), "{}", again.stderr);
    repository.xtask("bench --repeat 1", &[]).assert_fine();
    assert_eq!(repository.kept(), both(&[("base@1", 200), ("pr@1", 200), ("pr@2", 200)]));
}

#[test]
fn a_run_that_fails_ends_it_and_failed_cases_do_not() {
    let repository = Repository::new();
    let outcome = repository.xtask("bench --repeat 4", &[("SPEED_FAILS", "base@2 101")]);
    let said = ["run 2 of 4 (base@2): base could not be measured", "save-baseline base@2", "kept"];
    outcome.assert_refused(101, &said);
    assert_eq!(repository.measured().len(), 2);
    assert_eq!(repository.kept(), both(&[("base@1", 100), ("base@2", 100)]));

    let outcome = repository.xtask("bench --repeat 3", &[("SPEED_FAILS", "base@2 1")]);
    outcome.assert_refused(1, &["note: cases failed in base@2", "kept as base@1 to base@3"]);
    assert_eq!(repository.measured().len(), 3);

    repository.edit("fn main", "fn naim");
    repository.xtask("bench --repeat 2", &[]).assert_refused(101, &["base could not be built"]);
    assert_eq!(
        repository.kept().len(),
        6,
        "nothing is removed before there is something to measure"
    );
    repository.edit("fn naim", "fn main");
    let nothing = repository.xtask("bench --repeat 2 -- nothing", &[]);
    nothing.assert_refused(2, &["no case of base is selected", "cargo bench -- --list"]);
    assert_eq!(repository.kept().len(), 6, "a slip of the pen costs nothing");
    repository.xtask("bench --repeat 2 -- --list", &[]).assert_refused(2, &["--list", "--repeat"]);
    assert!(repository.measured().is_empty());
}

#[test]
fn sources_that_change_meanwhile_end_it() {
    let repository = Repository::new();
    let source = repository.source().display().to_string();
    let outcome = repository.xtask("bench --repeat 3", &[("SPEED_EDITS", &source)]);
    outcome.assert_refused(1, &["run 2 of 3", "were changed in", "leave the sources alone"]);
    assert_eq!(repository.kept(), both(&[("base@1", 100)]), "and nothing is measured of them");
}

#[test]
fn branches_are_measured_in_turn_from_worktrees_and_compared() {
    let repository = Repository::new();
    let main = repository.git(&["rev-parse", "--short=12", "HEAD"]);
    let branch = repository.branch("feature/x", "= 100;", "= 120;");
    let line = "compare-branches main feature/x --runs 3 --fail-on regression -- some";
    let outcome = repository.xtask(line, &[]);
    outcome.assert_refused(1, &["run 6 of 6 (feature-x@3), ", "checking out"]);
    let table = "main: 100 100 100\nfeature-x: 120 120 120\n";
    assert_eq!(outcome.stdout, format!("{table}fails on regression\n"), "and nothing else");
    let (a, b) = (format!("HERE/target/compare/{main}"), format!("HERE/target/compare/{branch}"));
    // The target of the clone's link is the same for both.
    let libtorch = fs::read_link(repository.scratch.link()).expect("setup made a link");
    let run = |name: &str, folder: &str| {
        format!("{name} in {folder} with {}: some --bench", libtorch.display())
    };
    let order = [("main@1", &a), ("feature-x@1", &b), ("feature-x@2", &b), ("main@2", &a)];
    let order = order.into_iter().chain([("main@3", &a), ("feature-x@3", &b)]);
    let order: Vec<String> = order.map(|(name, folder)| run(name, folder)).collect();
    assert_eq!(repository.measured(), order);

    // Again, with what is not committed: nothing is checked out or built that is there.
    repository.edit("= 120;", "= 130;");
    let outcome = repository.xtask("compare-branches main . --runs 2", &[]);
    outcome.assert_fine();
    assert_eq!(outcome.stdout, "main: 100 100\nworking-tree: 130 130\n");
    assert!(!outcome.stderr.contains("checking out"), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.matches("Compiling speed").count(), 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("replace: main@1 to main@3\n"), "{}", outcome.stderr);
    assert_eq!(repository.measured()[1], "working-tree@1 in HERE with HERE/.libtorch: --bench");
}

#[test]
fn a_worktree_serves_one_commit_after_another() {
    let repository = Repository::new();
    repository.branch("pr", "= 100;", "= 120;");
    repository.xtask("compare-branches main pr --runs 1", &[]).assert_fine();
    let next = repository.branch("next", "= 100;", "= 140;");
    let outcome = repository.xtask("compare-branches main next --runs 1", &[]);
    assert_eq!(outcome.assert_fine().stdout, "main: 100\nnext: 140\n");
    let compare = repository.clone.join("target/compare");
    assert!(outcome.stderr.contains(&format!("checking out {next} in {}/", compare.display())));
    assert!(compare.join(&next).join("target/release").exists(), "with all that was built");
    assert_eq!(fs::read_dir(&compare).expect("list it").count(), 2);

    // One in which somebody works is left alone.
    fs::write(compare.join(&next).join("notes"), "mine").expect("work in a worktree");
    repository.xtask("compare-branches main pr --runs 1", &[]).assert_fine();
    assert_eq!(fs::read_dir(&compare).expect("list it").count(), 3);
}

#[test]
fn one_commit_twice_is_compared_with_itself() {
    let repository = Repository::new();
    // In a hook of another repository these are set; the folder says which repository this is.
    let hook = [("GIT_DIR", "/nowhere"), ("GIT_INDEX_FILE", "/nowhere/index")];
    let line = "compare-branches HEAD HEAD --runs 2 --bench speed";
    let outcome = repository.xtask(line, &hook);
    outcome.assert_fine();
    assert_eq!(outcome.stdout, "HEAD-a: 100 100\nHEAD-b: 100 100\n");
    assert!(outcome.stderr.contains("an A/A comparison"), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.matches("Compiling speed").count(), 1, "{}", outcome.stderr);
}

#[test]
fn results_come_together_wherever_cargo_builds() {
    let repository = Repository::new();
    let main = repository.git(&["rev-parse", "--short=12", "HEAD"]);
    let elsewhere = repository.scratch.empty().join("built");
    let built = elsewhere.display().to_string();
    for variable in ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"] {
        let line = "compare-branches main . --runs 1";
        let outcome = repository.xtask(line, &[(variable, &built)]);
        assert_eq!(outcome.assert_fine().stdout, "main: 100\nworking-tree: 100\n", "{variable}");
    }
    assert!(elsewhere.join("criterion/speed/some-case/main@1").exists(), "as with cargo bench");
    let place = elsewhere.join("compare").join(&main);
    assert!(place.join("target/release/deps").exists(), "a side has its own");
    assert!(!repository.clone.join("target").exists());
}

#[test]
fn what_cannot_be_compared_is_known_before_anything_is_measured() {
    let repository = Repository::new();
    let main = repository.git(&["rev-parse", "--short=12", "HEAD"]);
    let said = ["no commit \"nowhere\"", "git fetch", "origin/NAME"];
    repository.xtask("compare-branches nowhere main", &[]).assert_refused(2, &said);
    assert!(!repository.clone.join("target/compare").exists());

    // It would have no records, and the other side nothing to be compared with.
    repository.branch("empty", "word == \"nothing\"", "word == \"--list\"");
    let said = ["main: 1 case\n", "no case of empty is selected", "cargo bench -- --list"];
    repository.xtask("compare-branches main empty", &[]).assert_refused(2, &said);

    let broken = repository.branch("broken", "fn main", "fn naim");
    let place = repository.clone.join("target/compare").join(broken);
    let said = [
        "broken could not be built (exit status: 101): CRITERION_HOME=",
        "cargo bench --no-run --message-format=json-render-diagnostics, in ",
        &place.display().to_string(),
    ];
    repository.xtask("compare-branches main broken", &[]).assert_refused(101, &said);

    let worktree = repository.clone.join("target/compare").join(&main);
    fs::write(worktree.join("notes"), "mine").expect("work in a worktree");
    let said = ["has changes: ?? notes", "--clean"];
    repository.xtask("compare-branches main .", &[]).assert_refused(1, &said);

    let reporter = repository.clone.join("criterion-report/src/main.rs");
    fs::write(&reporter, "fn main() { std::process::exit(2) }").expect("break the report");
    let said = ["does not compare (exit status: 2): cargo criterion-report compare --help"];
    repository.xtask("compare-branches . .", &[]).assert_refused(2, &said);
    assert!(repository.measured().is_empty());

    let outcome = repository.xtask("compare-branches --clean", &[]);
    outcome.assert_fine();
    assert_eq!(outcome.stderr.matches("removed ").count(), 2, "{}", outcome.stderr);
    assert!(!repository.clone.join("target/compare").exists());
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 1);
    repository.xtask("compare-branches --clean", &[]).assert_fine();
}

#[test]
fn a_run_that_fails_ends_the_comparison() {
    let repository = Repository::new();
    let failing = [("SPEED_FAILS", "HEAD-b@2 3")];
    let outcome = repository.xtask("compare-branches HEAD HEAD", &failing);
    outcome.assert_refused(
        3,
        &["run 3 of 16 (HEAD-b@2): ", "cargo bench -- --save-baseline HEAD-b@2, in "],
    );
    assert_eq!((outcome.stdout.as_str(), repository.measured().len()), ("", 3));

    // By hand or by cargo clean, and git is not told.
    let main = repository.git(&["rev-parse", "--short=12", "HEAD"]);
    let place = repository.clone.join("target/compare").join(main);
    fs::remove_dir_all(place).expect("take the worktree away");
    let outcome = repository.xtask("compare-branches HEAD . --runs 1", &failing);
    assert_eq!(outcome.assert_fine().stdout, "HEAD: 100\nworking-tree: 100\n");
}

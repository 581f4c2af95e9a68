//! `bench --repeat`: the real cargo and git, on a small repository of their own (fixtures/speed) whose benchmark runs in
//! no time.
#![cfg(unix)]

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

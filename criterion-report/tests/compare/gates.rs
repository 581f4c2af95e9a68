//! `--fail-on`.

use plan::Outcome;

use crate::compare::folder::*;

#[test]
fn gates_fail_on_what_they_name() {
    let folder = one_of_each();
    for (gate, cases, says) in [
        ("regression", 3, "reduction/cpu/kernel/f32-4096: time: 25.0 % slower"),
        ("accuracy", 1, "histogram/cpu/kernel/f32-4096: accuracy: relative_error"),
        ("missing", 2, "sort/cpu/kernel/f32-4096: outcome: B has no record of it"),
        ("inconclusive", 1, "gemv/cpu/kernel/f32-4096: time: "),
        ("failure", 1, "fft/cpu/kernel/f32-4096: failed: "),
    ] {
        let said = folder.stderr(1, &["compare", "main", "pr", "--fail-on", gate]);
        let title = format!("--fail-on {gate}: {cases} case");
        assert!(said.contains(&title) && said.contains(says), "{gate}: {said}");
    }
    let said = folder.stderr(1, &["compare", "main", "pr", "--fail-on", "accuracy,missing"]);
    assert_eq!(said.matches("--fail-on").count(), 2, "{said}");
    // A gate that holds is silent.
    folder.save("same", 6, main_branch);
    folder.stdout(0, &["compare", "main", "same", "--fail-on", "regression,accuracy,missing"]);
}

#[test]
fn a_gate_that_nothing_was_put_to_has_not_held() {
    let folder = Folder::new();
    let others = |run| {
        let mut fixture = main_branch(run);
        for case in &mut fixture.cases {
            case.record.outcome = Outcome::Tested;
        }
        fixture
    };
    folder.save("tested", 2, others).save("also", 2, others);
    let nothing = "--fail-on: no gate was checked, because no case could be compared";
    let said = folder.stderr(2, &["compare", "tested", "also", "--fail-on", "regression"]);
    assert!(said.contains(nothing), "{said}");
    // If two sides have no common case, one is all missing and the other all new.
    let others = |run| {
        let mut fixture = main_branch(run);
        fixture.cases.truncate(1);
        fixture
    };
    let rest = |run| main_branch(run).without(KERNELS[0]);
    folder.save("one", 2, others).save("rest", 2, rest);
    let said = folder.stderr(2, &["compare", "one", "rest", "--fail-on", "regression"]);
    assert!(said.contains(nothing), "{said}");
    let said = folder.stderr(1, &["compare", "one", "rest", "--fail-on", "missing,regression"]);
    assert!(said.contains("--fail-on missing: 1 case") && !said.contains(nothing), "{said}");
    let text = folder.stdout(0, &["compare", "tested", "also"]);
    assert!(text.contains("9 cases: 9 not compared"), "{text}");
}

//! Formats of the output: the table, Markdown and JSON.

use std::fs;

use plan::Conditions;

use crate::compare::folder::*;
use crate::kernels::fixture::Fixture;

#[test]
fn one_of_each_verdict_in_every_format() {
    let folder = one_of_each();
    insta::assert_snapshot!("table", folder.stdout(0, &["compare", "main", "pr"]));
    insta::assert_snapshot!(
        "markdown",
        folder.stdout(0, &["compare", "main", "pr", "--format", "markdown"])
    );
    insta::assert_snapshot!(
        "json",
        folder.stdout(0, &["compare", "main", "pr", "--format", "json"])
    );
}

#[test]
fn all_shows_what_is_equivalent_and_a_filter_what_matches() {
    let folder = one_of_each();
    let text = folder.stdout(0, &["compare", "main", "pr", "--all", "--filter", "stencil"]);
    assert!(text.contains("equivalent (1)") && text.ends_with("1 case: 1 equivalent\n"), "{text}");
    let said = folder.stderr(2, &["compare", "main", "pr", "--filter", "nowhere"]);
    assert!(said.contains("--filter nowhere matches no case of either side"), "{said}");
}

#[test]
fn output_goes_to_a_file_as_a_whole() {
    let folder = one_of_each();
    let args = ["compare", "main", "pr", "--format", "markdown"];
    let printed = folder.stdout(0, &args);
    let nothing = folder.stdout(0, &[&args[..], &["--output", "comment.md"]].concat());
    assert_eq!(nothing, "");
    assert_eq!(fs::read_to_string(folder.path("comment.md")).expect("written"), printed);
}

#[test]
fn numbers_as_large_as_there_are_do_no_harm() {
    let folder = Folder::new();
    let huge = |_| {
        main_branch(0).edit("scan", |it| {
            let memory = it.record.measures.memory.as_mut().expect("measured");
            (memory.weights_bytes, memory.step.peak_bytes) = (u64::MAX, u64::MAX);
        })
    };
    folder.save("main", 0, main_branch).save("pr", 0, huge);
    let said = folder.stderr(2, &["compare", "main", "pr", "--fail-on", "regression"]);
    assert!(
        said.contains("`measures.memory.weights_bytes` has the value 18446744073709551615"),
        "{said}"
    );
    // The rest is compared all the same.
    assert!(said.contains("the same measurement of 8 cases"), "{said}");
}

#[test]
fn what_an_id_holds_does_not_break_a_table_of_markdown() {
    let folder = Folder::new();
    let hostile = |_| {
        let mut fixture = main_branch(0);
        fixture.cases.truncate(1);
        fixture
    };
    folder.save("main", 0, hostile);
    let file = folder.path("pr.json");
    folder.stdout(0, &["export", "json", "--baseline", "main", "--output", "pr.json"]);
    let text = fs::read_to_string(&file).expect("written");
    fs::write(&file, text.replace("kernels/default/gemv", "a|b`c\\nd/default/gemv"))
        .expect("written");
    let text = folder.stdout(0, &["compare", "main", "pr.json", "--format", "markdown"]);
    let line = text.lines().find(|line| line.contains("a\\|b'c\\nd/default/gemv"));
    assert!(line.is_some_and(|line| line.starts_with("| new |")), "{text}");
}

/// `branch` on a machine that others share.
fn disturbed(run: u64) -> Fixture {
    branch(run).edit("kernels/", |it| {
        it.record.measures.conditions = Some(Conditions {
            clock_mhz: None,
            clock_method: "none".to_owned(),
            temperature_c: None,
            regime: None,
            throttle_reasons: Vec::new(),
            throttle_method: None,
            discarded_samples: 0,
            steal: Some(0.05),
        });
    })
}

#[test]
fn cautions_are_shown_where_they_matter_and_counted_elsewhere() {
    let folder = Folder::new();
    folder.save("main", 6, main_branch).save("pr", 6, disturbed);
    let text = |args: &[&str]| folder.stdout(0, &[&["compare", "main", "pr"], args].concat());
    let caution = "the hypervisor gave 5.0 % of the CPU time to others in B (in 6 of 6 runs)";
    let count = |text: &str| one_line(text).matches(caution).count();
    // Three regressed, which share a line, and one improved; one is left open, and one equivalent.
    let quiet = text(&[]);
    assert_eq!((count(&quiet), quiet.matches(" ¹\n").count()), (2, 3), "{quiet}");
    assert!(
        quiet.ends_with("1 other case with cautions on the measurement (--details shows them)\n")
    );
    assert_eq!(count(&text(&["--details"])), 3);
    assert_eq!(count(&text(&["--details", "--all"])), 4);
    let quiet = text(&["--format", "markdown"]);
    assert_eq!(count(&quiet), 4, "{quiet}");
    assert!(
        quiet.ends_with("2 other cases with cautions on the measurement (--details shows them).\n")
    );
    assert_eq!(count(&text(&["--format", "markdown", "--details"])), 6);
    assert_eq!(count(&text(&["--format", "json"])), 6);
}

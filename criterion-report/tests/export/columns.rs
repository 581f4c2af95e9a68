//! `show` with columns and an order of the user's own.

use insta::assert_snapshot;

use crate::common::{report, write, write_on};
use crate::export::{refused, writer};

#[test]
fn columns_are_those_that_are_named_in_their_order() {
    let command = "show --columns speedup,latency,peak-memory,sqnr,relative-error --sort latency";
    assert_snapshot!("columns-every-outcome", write(&writer(command), &report("every-outcome")));
    let narrow = write_on(Some(60), &writer(command), &report("two-siblings"));
    assert_snapshot!("columns-narrow", narrow);
    assert!(narrow.lines().all(|line| line.chars().count() <= 60 || line.contains('/')));
}

/// The first word of each line of a case.
fn variants(command: &str) -> Vec<String> {
    let text = write(&writer(command), &report("compiled-modes"));
    let (_, group) = text.split_once("inference/quick/linear/cpu\n").expect("the group");
    let (group, _) = group.split_once("\n\n").unwrap_or((group, ""));
    let lines = group.lines().filter(|line| line.starts_with("    ") && !line.starts_with("     "));
    lines.map(|line| line.split_whitespace().next().expect("a word").to_owned()).collect()
}

#[test]
fn cases_are_sorted_inside_their_group_and_those_without_a_value_come_last() {
    let by = |sort: &str| variants(&format!("show --columns latency --sort {sort}"));
    let (up, down) = (by("latency"), by("latency:desc"));
    assert_eq!(up[0], "int8wo+max-autotune");
    assert_eq!(down[0], "int8wo");
    let without = ["int8dq+compile", "int8dq+max-autotune"];
    for order in [&up, &down] {
        let place = |variant: &str| order.iter().position(|it| it == variant).expect("a line");
        let measured = order.iter().filter(|it| !without.contains(&it.as_str()));
        assert!(measured.clone().count() > 5, "{order:?}");
        let last = measured.map(|it| place(it)).max().expect("several");
        assert!(without.iter().all(|it| place(it) > last), "{order:?}");
    }
    assert_eq!(by("latency:asc"), up);
}

#[test]
fn an_unknown_column_says_what_lists_them() {
    assert!(refused("show --columns speed").contains("`--columns help` lists those"), "a slip");
    assert!(refused("show --sort speed").contains("`--columns help` lists those"), "a slip");
    assert!(refused("show --sort speedup:up").contains("order `up` is neither `asc` nor `desc`"));
}

#[test]
fn help_lists_every_value_with_its_unit() {
    for command in ["show --columns help", "csv --columns latency,help"] {
        let text = writer(command).help().expect("a list");
        let words = |line: &str| line.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = text.lines().map(words).collect();
        for line in ["latency ns median", "sm-utilization share time", "peak-memory B peak"] {
            assert!(lines.iter().any(|it| it == line), "{line}: {text}");
        }
    }
    assert_eq!(writer("show --columns latency").help(), None);
}

#[test]
fn csv_has_the_columns_that_are_named_in_their_order() {
    let text = write(&writer("csv --columns full-id,latency,peak-memory"), &report("two-siblings"));
    let heading = "full_id,model_inference_time_in_ms,model_time_low_in_ms,model_time_high_in_ms,\
                   peak_memory";
    assert_eq!(text.lines().next(), Some(heading));
    let first = text.lines().nth(1).expect("a case");
    let all = write(&writer("csv"), &report("two-siblings"));
    let time = first.split(',').nth(1).expect("a time");
    assert!(all.lines().nth(1).expect("a case").contains(&format!(",{time},")), "{first}");
}

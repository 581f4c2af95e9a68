//! Many cases: how many runs they need, and what a comment has room for.

use criterion_report::compare::{Comparison, Floors, Point, Side, SideRun, Verdict};
use criterion_report::views::compare::{Look, markdown, table};

use Verdict::{Inconclusive, Regressed};

use super::sides::*;

#[test]
fn more_cases_need_more_runs() {
    let many = |ns: f64, count: u32| -> Vec<SideRun> {
        let run = |run: u32| {
            let points = (0..50).map(|case| Point {
                full_id: format!("kernels/default/case{case}/cpu/kernel/f32"),
                ..point((if case == 0 { ns } else { 100.0 }) * (1.0 + 0.001 * f64::from(run)))
            });
            SideRun::new("x", points.collect())
        };
        (0..count).map(run).collect()
    };
    for (count, expected) in [(5, Inconclusive), (6, Inconclusive), (7, Regressed), (8, Regressed)]
    {
        let side = |ns| Side { name: "x".to_owned(), runs: many(ns, count) };
        let found = comparison(side(100.0), side(120.0), Floors::Profile(None));
        assert_eq!(found.cases[0].verdict, expected, "{count}: {}", found.cases[0].reason);
        if count == 5 {
            let says = "5 runs per side cannot show a difference among 50 cases (least adjusted p \
                        0.40): take 7";
            assert!(found.cases[0].reason.contains(says), "{}", found.cases[0].reason);
        }
    }
}

/// Some cases that all take twice as long.
fn many_regressions(count: usize) -> Comparison {
    let of = |ns: f64| {
        let points = (0..count).map(|case| Point {
            full_id: format!("inference/default/linear/cpu/int8wo-{case}/bf16-4096x4096x4096"),
            ..point(ns)
        });
        Side { name: "x".to_owned(), runs: vec![SideRun::new("x", points.collect())] }
    };
    comparison(of(100.0), of(200.0), Floors::Ignored)
}

#[test]
fn a_comment_has_room_for_so_much_and_counts_the_rest() {
    let look = Look { all: false, details: false, colour: false, width: None };
    for count in [3, 300, 3000] {
        let text = markdown::write(&many_regressions(count), look.details);
        assert!(text.chars().count() <= 65_000, "{count}: {}", text.chars().count());
        let shown = text.matches("| **regressed** |").count();
        let rest = text
            .lines()
            .find_map(|it| it.strip_suffix(" more cases did not fit into this comment."));
        let rest: usize = rest.map_or(0, |rest| rest.parse().expect("a number"));
        assert_eq!(shown + rest, count);
        assert!(count < 1000 || rest > 0);
        assert!(text.starts_with(&format!("### {count} cases: {count} regressed")));
    }
}

#[test]
fn a_narrow_terminal_has_the_values_below_the_id() {
    let text = |width: Option<usize>| {
        let look = Look { all: true, details: true, colour: false, width };
        table::write(&many_regressions(3), look)
    };
    let id = "inference/default/linear/cpu/int8wo-1/bf16-4096x4096x4096";
    for (width, below) in [(Some(80), true), (Some(200), false), (None, false)] {
        let text = text(width);
        let line = text.lines().position(|line| line.contains(id)).expect("its line");
        let line = text.lines().nth(line + usize::from(below)).expect("a line");
        assert!(line.contains("time") && line.contains("2.00×"), "{width:?}: {text}");
        let room = width.unwrap_or(usize::MAX);
        assert!(text.lines().all(|line| line.chars().count() <= room), "{width:?}: {text}");
    }
}

#[test]
fn what_reasons_quote_breaks_no_table() {
    let error = "a | b `c`\n<img src=x>";
    let failed = Point { reason: Some(error.to_owned()), ..ended("failed") };
    let found = comparison(side("a", [point(100.0)]), side("b", [failed]), Floors::Ignored);
    let text = markdown::write(&found, false);
    let line = text.lines().find(|line| line.contains("regressed**")).expect("its line");
    assert!(line.ends_with("| now failed: a \\| b `c` &lt;img src=x&gt; |"), "{line}");
}

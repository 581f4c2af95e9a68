//! The printed table.

use statistics::Ratio;

use crate::torchao::rounds::Comparison;
use crate::torchao::table::{Outcome, Row, render};

fn row(variant: &str, outcome: Outcome) -> Row {
    let heading = "inference/x/linear/cpu, 1 thread, allocator retained".to_owned();
    Row { heading, variant: variant.into(), parameter: "bf16-1x64x64".into(), outcome }
}

fn compared(ours_ns: f64, theirs_ns: f64, half: f64) -> Outcome {
    let ratio = ours_ns / theirs_ns;
    let ratio = Ratio { ratio, low: ratio - half, high: ratio + half };
    Outcome::Compared(Comparison { ours_ns, theirs_ns, ratio, blocks: 8 })
}

#[test]
fn a_table() {
    let no_peer = || Outcome::NotCompared("no peer: ImportError: no such name".into());
    let other_shape = |mut row: Row| {
        row.parameter = "bf16-4x64x64".into();
        row
    };
    let rows = [
        row("baseline", compared(12_345.0, 15_000.0, 0.01)),
        row("int8wo", compared(1_080_000.0, 1_000_000.0, 0.04)),
        row("int8dq", compared(1_080_000.0, 1_000_000.0, 0.02)),
        row("fp6", no_peer()),
        row("uintx-4-64", no_peer()),
        row("int8dq-v2", Outcome::Failed("the Python process ended".into())),
        other_shape(row("int8wo", no_peer())),
        other_shape(row("fp6", no_peer())),
    ];
    assert_eq!(
        render(&rows),
        "
inference/x/linear/cpu, 1 thread, allocator retained
  variant   shape         ours µs  torchao µs  ratio [95 %]          verdict
  baseline  bf16-1x64x64    12.35       15.00  0.823 [0.813, 0.833]
  int8wo    bf16-1x64x64     1080        1000  1.080 [1.040, 1.120]  above, undecided
  int8dq    bf16-1x64x64     1080        1000  1.080 [1.060, 1.100]  SLOWER
  not compared
    no peer: ImportError: no such name
      fp6, uintx-4-64, int8wo (bf16-4x64x64)
  FAILED
    the Python process ended
      int8dq-v2

1 of 3 at or below 1.05, 1 above it with their whole interval, 1 above it, undecided; \
4 not compared, 1 failed
"
    );
    let line = |row: usize| rows[row].outcome.line();
    assert_eq!(line(0), "12.35 µs, torchao 15.00 µs: 0.823 [0.813, 0.833]");
    assert_eq!(line(1), "1080 µs, torchao 1000 µs: 1.080 [1.040, 1.120] above, undecided");
    assert_eq!(line(3), "no peer: ImportError: no such name");
    assert_eq!(line(5), "FAILED: the Python process ended");
    let failures: Vec<bool> = rows.iter().map(|row| row.outcome.is_failure()).collect();
    assert_eq!(failures, [false, true, true, false, false, true, false, false]);
}

#[test]
fn a_plan_without_a_peer_has_no_table_and_each_heading_its_own() {
    let mut rows = [
        row("fp6", Outcome::NotCompared("no peer".into())),
        row("fp6", compared(1_000.0, 1_000.0, 0.0)),
    ];
    rows[1].heading = "another".into();
    let text = render(&rows);
    let (first, second) = text.split_once("\nanother\n").expect("both headings");
    assert!(!first.contains("variant") && first.contains("    no peer\n      fp6\n"), "{text}");
    assert!(second.contains("variant") && !second.contains("no peer"), "{text}");
}

#[test]
fn times_keep_four_digits() {
    for (ns, text) in [
        (850.0, " 0.850 "),
        (1_234.0, " 1.234 "),
        (12_345.0, " 12.35 "),
        (123_456.0, " 123.5 "),
        (12_345_678.0, " 12346 "),
    ] {
        let table = render(&[row("baseline", compared(ns, 2e9, 0.0))]);
        assert!(table.contains(text), "{table}");
    }
}

//! The differences from an earlier run.

use std::collections::BTreeMap;

use crate::compare::Verdict;
use crate::render::markdown::{and_more, code, or_absent, plain, reason, revision, table};
use crate::render::table::Align;
use crate::render::units;
use crate::views::kernels::{Changed, Changes};
use crate::views::view::{Column, left, markdown_rows, right};
use crate::visible;

const LINES: usize = 20;
const ALL: &str = "`regressions.json`";

/// `regressions.md`.
pub fn file(changes: &Changes) -> String {
    let text = format!("# Comparison with {}\n\n{}", baseline(changes), body(changes, "##"));
    visible::lines(&text).into_owned()
}

/// The same in `summary.md`.
pub fn section(changes: &Changes) -> String {
    format!("Compared with {}: {}", baseline(changes), body(changes, "###"))
}

fn baseline(changes: &Changes) -> String {
    const MOST: usize = 3;
    let revisions: Vec<String> =
        changes.revisions.iter().take(MOST).map(|it| revision(it)).collect();
    let more = and_more(changes.revisions.len() - revisions.len());
    let of = if revisions.is_empty() {
        String::new()
    } else {
        format!(" (commit {}{more})", revisions.join(", "))
    };
    format!("{}{of}", code(&changes.baseline))
}

/// Words are chosen so that a comparison without a finding names none.
fn body(changes: &Changes, level: &str) -> String {
    let mut out = totals(changes);
    if let Some(source) = &changes.source {
        out.push_str(&format!("\nThe earlier results are {}.\n", plain(source)));
    }
    let inconclusive = changes.of(Verdict::Inconclusive);
    let disagree =
        if inconclusive.iter().any(|it| it.is_error()) { ", or runs disagree as much" } else { "" };
    let open =
        format!("Inconclusive: beyond the threshold, but the interval includes 1×{disagree}");
    let columns: [Column<Changed>; 5] = [
        left("Case", |it| code(&it.full_id).into()),
        left("What", |it| what(it).into()),
        right("Before", |it| side(it, 0).into()),
        right("After", |it| side(it, 1).into()),
        right("Change", |it| {
            or_absent(it.ratio().map(|(ratio, bounds)| units::ratio(ratio, Some(bounds)))).into()
        }),
    ];
    for (title, changed) in [
        ("Regressions", changes.of(Verdict::Regressed)),
        ("Improvements", changes.of(Verdict::Improved)),
        (open.as_str(), inconclusive),
    ] {
        let table = markdown_rows(&columns, changed.iter().copied().take(LINES));
        out.push_str(&titled(level, title, table, changed.len()));
    }
    let columns: [Column<Changed>; 2] = [
        left("Case", |it| code(&it.full_id).into()),
        left("Why", |it| reason(&it.found.reason).into()),
    ];
    for (title, verdict) in [("New", Verdict::New), ("Missing", Verdict::Missing)] {
        let cases = changes.of(verdict);
        let table = markdown_rows(&columns, cases.iter().copied().take(LINES));
        out.push_str(&titled(level, title, table, cases.len()));
    }
    out.push_str(&not_compared(level, &changes.of(Verdict::NotCompared)));
    out
}

fn totals(changes: &Changes) -> String {
    let of = |verdict| changes.of(verdict).len();
    format!(
        "{} worse, {} better, {} inconclusive, {} unchanged, {} new, {} missing, {} not compared; \
         thresholds: {} of the time, {} of the relative error.\n",
        of(Verdict::Regressed),
        of(Verdict::Improved),
        of(Verdict::Inconclusive),
        changes.unchanged,
        of(Verdict::New),
        of(Verdict::Missing),
        of(Verdict::NotCompared),
        units::percent(changes.thresholds.latency),
        units::error(changes.thresholds.accuracy),
    )
}

fn titled(level: &str, title: &str, table: String, items: usize) -> String {
    if table.is_empty() {
        return table;
    }
    let more = items.saturating_sub(LINES);
    let more = if more > 0 { format!("\n{more} more in {ALL}.\n") } else { String::new() };
    format!("\n{level} {title}\n\n{table}{more}")
}

fn what(changed: &Changed) -> String {
    match changed.kind() {
        "failure" => "outcome".to_owned(),
        "latency" => "time".to_owned(),
        _ => changed.found.name.replace('_', " "),
    }
}

/// Its value before, or after.
fn side(changed: &Changed, place: usize) -> String {
    let numbers = numbers(changed).map(|numbers| numbers[place].clone());
    numbers.unwrap_or_else(|| reason(&changed.ended[place]))
}

/// Both times, or both errors, with their units.
pub fn numbers(changed: &Changed) -> Option<[String; 2]> {
    let text = if changed.is_error() { units::error } else { units::time };
    changed.values().filter(|_| changed.kind() != "failure").map(|values| values.map(text))
}

/// How many cases give each reason: a whole machine's are one line.
fn not_compared(level: &str, cases: &[&Changed]) -> String {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for case in cases {
        reasons.entry(&case.found.reason).or_default().push(&case.full_id);
    }
    let rows: Vec<Vec<String>> = reasons
        .iter()
        .take(LINES)
        .map(|(why, ids)| vec![ids.len().to_string(), code(ids[0]), reason(why)])
        .collect();
    let columns = [("Cases", Align::Right), ("First", Align::Left), ("Why", Align::Left)];
    titled(level, "Not compared", table(&columns, &rows), reasons.len())
}

//! The differences from an earlier run.

use std::collections::BTreeMap;

use crate::model::kernels::{Changed, Changes};
use crate::write::Align;
use crate::write::markdown::{and_more, code, or_absent, reason, revision, table};
use crate::{units, visible};

const LINES: usize = 20;
const ALL: &str = "`regressions.json`";

const COLUMNS: &[(&str, Align)] = &[
    ("Case", Align::Left),
    ("What", Align::Left),
    ("Before", Align::Right),
    ("After", Align::Right),
    ("Change", Align::Right),
];

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
    let inconclusive = if changes.inconclusive.iter().any(Changed::is_error) {
        "Inconclusive: beyond the threshold, but the interval includes 1×, or runs disagree as much"
    } else {
        "Inconclusive: beyond the threshold, but the interval includes 1×"
    };
    for (title, changed) in [
        ("Regressions", &changes.regressions),
        ("Improvements", &changes.improvements),
        (inconclusive, &changes.inconclusive),
    ] {
        out.push_str(&titled(level, title, table(COLUMNS, &rows(changed)), changed.len()));
    }
    for (title, cases) in [("New", &changes.new), ("Missing", &changes.missing)] {
        let rows: Vec<Vec<String>> = cases
            .iter()
            .take(LINES)
            .map(|case| vec![code(&case.full_id), reason(&case.found.reason)])
            .collect();
        let columns = [("Case", Align::Left), ("Why", Align::Left)];
        out.push_str(&titled(level, title, table(&columns, &rows), cases.len()));
    }
    out.push_str(&not_compared(level, &changes.not_compared));
    out
}

fn totals(changes: &Changes) -> String {
    let of = |list: &[Changed]| list.len();
    format!(
        "{} worse, {} better, {} inconclusive, {} unchanged, {} new, {} missing, {} not compared; \
         thresholds: {} of the time, {} of the relative error.\n",
        of(&changes.regressions),
        of(&changes.improvements),
        of(&changes.inconclusive),
        changes.unchanged,
        changes.new.len(),
        changes.missing.len(),
        changes.not_compared.len(),
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

fn rows(changed: &[Changed]) -> Vec<Vec<String>> {
    changed.iter().take(LINES).map(row).collect()
}

fn row(changed: &Changed) -> Vec<String> {
    let what = match changed.kind() {
        "failure" => "outcome".to_owned(),
        "latency" => "time".to_owned(),
        _ => changed.found.name.replace('_', " "),
    };
    let [before, after] = match numbers(changed) {
        Some(numbers) => numbers,
        None => changed.ended.each_ref().map(|ended| reason(ended)),
    };
    let change = changed.ratio().map(|(ratio, bounds)| units::ratio(ratio, Some(bounds)));
    vec![code(&changed.full_id), what, before, after, or_absent(change)]
}

/// Both times, or both errors, with their units.
pub fn numbers(changed: &Changed) -> Option<[String; 2]> {
    let text = if changed.is_error() { units::error } else { units::time };
    changed.values().filter(|_| changed.kind() != "failure").map(|values| values.map(text))
}

/// How many cases give each reason: a whole machine's are one line.
fn not_compared(level: &str, cases: &[Changed]) -> String {
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

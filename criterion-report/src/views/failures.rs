//! Why cases have no numbers, said in their place in a table, or once below it.

use std::collections::HashSet;

use crate::model::{Entry, NoSpeedup, NoTime, Row, Time};
use crate::render::table::{Cell, Line, Paint};
use crate::render::units;
use crate::views::footnotes::{Footnotes, Note};
use crate::views::view::{Room, Table, paragraph};

/// `skipped: …` when all of several cases ended so, for the same reason: a suite for a device that
/// is not there is one line, not hundreds.
pub fn common<'a>(rows: impl IntoIterator<Item = &'a Row>, room: Room) -> Option<String> {
    let rows: Vec<&Row> = rows.into_iter().collect();
    let outcome = &rows.first()?.record.outcome;
    let reason = outcome.reason()?;
    let common = rows.len() > 1 && rows.iter().all(|row| row.record.outcome == *outcome);
    common.then(|| {
        let all = units::count(rows.len(), "case");
        paragraph(&format!("all {all}: {}: {reason}", outcome.status()), 4, Paint::Warn, room)
    })
}

/// A table of these rows below its title; a [`common`] failure stands in its place.
pub fn titled<'a>(
    title: String,
    rows: impl IntoIterator<Item = &'a Row>,
    room: Room,
    table: impl FnOnce() -> Table,
) -> Table {
    common(rows, room).map_or_else(table, |text| Table { text, ..Table::default() }).below(title)
}

/// A reason without the recipe or the pattern and variant that it names: the row names them, too,
/// and reasons that differ in nothing else are one.
fn reason(row: &Row) -> Option<&str> {
    let reason = row.record.outcome.reason()?;
    let after = |prefix, end| reason.strip_prefix(prefix)?.split_once(end).map(|(_, rest)| rest);
    Some(after("recipe `", "`, ").or_else(|| after("pattern `", "`: ")).unwrap_or(reason))
}

/// Reasons that several cases give: they go below the table, once.
pub fn shared<'a>(rows: impl IntoIterator<Item = &'a Row>) -> HashSet<&'a str> {
    let mut seen = HashSet::new();
    let reasons = rows.into_iter().filter_map(reason);
    reasons.filter(|reason| !seen.insert(*reason)).collect()
}

/// The line of a case that has no numbers for a reason.
pub fn line(row: &Row, shared: &HashSet<&str>, footnotes: &mut Footnotes) -> Option<Line> {
    let record = &row.record;
    let reason = reason(row)?;
    let paint = if record.outcome.is_failure() { Paint::Bad } else { Paint::Warn };
    let status = record.outcome.status();
    let text = if shared.contains(reason) {
        format!("{status} {}", footnotes.mark(reason.to_owned()))
    } else {
        format!("{status}: {reason}")
    };
    Some(Line::Spanning(record.case.variant().into(), Cell::new(text, paint)))
}

/// The time of a case in words, or what stands in its place.
pub fn time(row: &Row, text: impl Fn(&Time) -> String) -> Cell {
    match &row.time {
        Ok(time) => text(time).into(),
        Err(NoTime::NotMeasured) => Cell::new(row.record.outcome.status(), Paint::Warn),
        Err(why) => Cell::new(if why.is_stale() { "stale" } else { "no time" }, Paint::Warn),
    }
}

/// Why a measured case has no time, and why it has no speed-up.
pub fn notes(entry: &Entry<'_>) -> Vec<Note> {
    let no_time = entry.row.time.as_ref().err().filter(|why| **why != NoTime::NotMeasured);
    let no_speedup = entry.comparison.and_then(|comparison| comparison.speedup.as_ref().err());
    let no_speedup = no_speedup.filter(|why| **why != NoSpeedup::NotMeasured);
    let no_speedup = no_speedup.map(|why| format!("no speed-up: {why}"));
    no_time.map(ToString::to_string).into_iter().chain(no_speedup).map(Note::from).collect()
}

//! The table of one criterion group.

use std::collections::{BTreeSet, HashSet};

use super::footnotes::Footnotes;
use super::gather;
use crate::model::{Entry, NoTime, Speedup};
use crate::units;
use crate::write::table::{Align, Cell, Line, Paint, render, wrap};

/// Heading, prose, one line per case, footnotes.
pub fn table(entries: &[Entry<'_>], width: usize, colour: bool) -> String {
    let group = &entries[0].row.record.case.id.group;
    let mut out = format!("{}\n", Paint::Bold.on(group, colour));
    for prose in prose(entries) {
        for part in wrap(prose, width - 2) {
            out.push_str(&format!("  {part}\n"));
        }
    }
    if let Some(outcome) = common_failure(entries) {
        let text = format!("all {}: {outcome}", units::count(entries.len(), "case"));
        for part in wrap(&text, width - 4) {
            out.push_str(&format!("    {}\n", Paint::Warn.on(&part, colour)));
        }
        return out;
    }
    let level = level(entries);
    let interval = level.map(|level| format!(" [{level}%]")).unwrap_or_default();
    let (time, speedup) = (format!("time{interval}"), format!("speed-up{interval}"));
    let columns = [
        ("", Align::Left),
        (time.as_str(), Align::Left),
        (speedup.as_str(), Align::Left),
        ("weights MiB", Align::Left),
        ("step MiB", Align::Right),
        ("SQNR", Align::Right),
        ("", Align::Left),
    ];
    let weights_width = entries.iter().map(|entry| weights(entry).len()).max().unwrap_or(0);
    let shared = shared_reasons(entries);
    let mut footnotes = Footnotes::default();
    let mut lines = Vec::new();
    for parameter in gather(entries.iter().copied(), |entry| &entry.row.record.case.id.parameter) {
        let case = &parameter[0].row.record.case;
        let names = &case.shape_names;
        let names =
            if names.is_empty() { String::new() } else { format!("  ({})", names.join(", ")) };
        let heading = format!("  {}{names}", case.id.parameter);
        lines.push(Line::Text(Cell::new(heading, Paint::Dim)));
        lines.extend(
            parameter.iter().map(|entry| line(entry, weights_width, &shared, &mut footnotes)),
        );
    }
    out.push_str(&render(&columns, &lines, 4, width, colour));
    out.push_str(&footnotes.render(width, colour));
    out
}

/// What the configs say about these cases, each text once.
fn prose<'a>(entries: &[Entry<'a>]) -> Vec<&'a str> {
    let mut texts = Vec::new();
    for text in
        entries.iter().filter_map(|entry| entry.row.record.case.settings.analysis.as_deref())
    {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

/// `skipped: …` when all of several cases ended so, for the same reason: a suite for a device that
/// is not there is one line, not hundreds.
fn common_failure(entries: &[Entry<'_>]) -> Option<String> {
    let outcome = &entries[0].row.record.outcome;
    let reason = outcome.reason()?;
    let common =
        entries.len() > 1 && entries.iter().all(|entry| entry.row.record.outcome == *outcome);
    common.then(|| format!("{}: {reason}", outcome.status()))
}

fn weights(entry: &Entry<'_>) -> String {
    entry
        .row
        .record
        .measures
        .memory
        .map(|memory| units::mib(memory.weights_bytes))
        .unwrap_or_default()
}

/// The one confidence level of all intervals, in percent.
fn level(entries: &[Entry<'_>]) -> Option<String> {
    let times = entries.iter().filter_map(|entry| entry.row.time.as_ref().ok());
    let levels: BTreeSet<String> = times
        .filter(|time| time.interval.is_some())
        .map(|time| format!("{}", (time.confidence_level * 1e4).round() / 1e2))
        .collect();
    match levels.len() {
        1 => levels.into_iter().next(),
        _ => None,
    }
}

/// Reasons that several cases give: they go below the table, once.
fn shared_reasons<'a>(entries: &[Entry<'a>]) -> HashSet<&'a str> {
    let mut seen = HashSet::new();
    let reasons = entries.iter().filter_map(|entry| entry.row.record.outcome.reason());
    reasons.filter(|reason| !seen.insert(*reason)).collect()
}

fn line(
    entry: &Entry<'_>,
    weights_width: usize,
    shared: &HashSet<&str>,
    footnotes: &mut Footnotes,
) -> Line {
    let record = &entry.row.record;
    let variant = Cell::from(record.case.id.variant.as_str());
    if let Some(reason) = record.outcome.reason() {
        let paint = if record.outcome.is_failure() { Paint::Bad } else { Paint::Warn };
        let status = record.outcome.status();
        let text = if shared.contains(reason) {
            format!("{status} {}", footnotes.mark(reason.to_owned()))
        } else {
            format!("{status}: {reason}")
        };
        return Line::Spanning(variant, Cell::new(text, paint));
    }
    let mut marks = Vec::new();
    let mut note = |text: String| marks.push(footnotes.mark(text));
    let time = match &entry.row.time {
        Ok(time) => units::time_with_interval(time.median_ns, time.interval).into(),
        Err(NoTime::NotMeasured) => Cell::new(record.outcome.status(), Paint::Warn),
        Err(why) => {
            note(why.to_string());
            Cell::new(if why.is_stale() { "stale" } else { "no time" }, Paint::Warn)
        }
    };
    let mut speedup = Cell::default();
    let mut weights = format!("{:>weights_width$}", weights(entry));
    if let Some(comparison) = entry.comparison {
        match &comparison.speedup {
            Ok(value) => {
                speedup = Cell::new(units::ratio(value.ratio, value.interval), paint(value));
                comparison.cautions.iter().for_each(|caution| note(caution.to_string()));
            }
            // That the row has no time is said already.
            Err(why) if entry.row.time.is_ok() => note(why.to_string()),
            Err(_) => {}
        }
        if let Some(fraction) = comparison.weights_reduction {
            weights.push_str(&format!(" {:>6}", units::reduction(fraction)));
        }
    }
    entry.row.cautions().into_iter().for_each(note);
    let memory = record.measures.memory;
    Line::Cells(vec![
        variant,
        time,
        speedup,
        if memory.is_some() { weights.into() } else { Cell::default() },
        memory.map(|memory| units::mib(memory.step.peak_bytes)).unwrap_or_default().into(),
        record
            .accuracy
            .map(|accuracy| units::decibels(accuracy.sqnr_db.0))
            .unwrap_or_default()
            .into(),
        Cell::new(marks.join(" "), Paint::Warn),
    ])
}

/// Green or red only where the interval says so.
fn paint(speedup: &Speedup) -> Paint {
    match speedup.interval {
        Some(interval) if interval.low > 1.0 => Paint::Good,
        Some(interval) if interval.high < 1.0 => Paint::Bad,
        _ => Paint::Plain,
    }
}

//! The gains of compiling in a group: against the same case run eagerly, and against the unquantized
//! model compiled in the same mode. The table above it compares with the eager baseline.

use super::{ABSENT, INDENT, by_parameter, further};
use crate::model::{Comparison, Entry, Gain, NoSpeedup};
use crate::render::table::{Align, Cell, Line, Paint, fit};
use crate::render::units;
use crate::views::footnotes::Footnotes;
use crate::views::verdict;
use crate::views::view::Room;
use crate::views::view::level;

/// The column that gives way where the table is too wide.
const PACKAGE: usize = 4;

/// A line per compiled case; nothing without any.
pub fn table(entries: &[Entry<'_>], footnotes: &mut Footnotes, room: Room) -> String {
    let compiled = entries.iter().filter(|entry| gain(entry.compilation).is_some());
    let compiled: Vec<Entry<'_>> = compiled.copied().collect();
    let level = level(compiled.iter().flat_map(gains).map(|gain| gain.confidence_level));
    let columns = [
        ("compiled".to_owned(), Align::Left),
        (format!("over eager{level}"), Align::Left),
        (format!("over compiled baseline{level}"), Align::Left),
        ("compiled in".to_owned(), Align::Right),
        ("package".to_owned(), Align::Right),
    ];
    let columns = columns.each_ref().map(|(heading, align)| (heading.as_str(), *align));
    let mut lines = by_parameter(compiled, |entry| [line(entry, footnotes)]);
    fit(&columns, &mut lines, INDENT, Some(room.width), &[PACKAGE]);
    further(&columns, &lines, room)
}

/// Whatever there is to say of a comparison: none of a case that is not measured.
fn gain(comparison: Option<&Comparison>) -> Option<&Result<Gain, NoSpeedup>> {
    comparison.map(|it| &it.gain).filter(|gain| **gain != Err(NoSpeedup::NotMeasured))
}

/// Only models have it: another compiled case has no other baseline than its eager twin's.
fn over_baseline<'a>(entry: &Entry<'a>) -> Option<&'a Result<Gain, NoSpeedup>> {
    entry.row.variant()?;
    gain(entry.quantization)
}

fn gains<'a>(entry: &Entry<'a>) -> impl Iterator<Item = &'a Gain> {
    let all = [gain(entry.compilation), over_baseline(entry)];
    all.into_iter().flatten().filter_map(|gain| gain.as_ref().ok())
}

fn line(entry: &Entry<'_>, footnotes: &mut Footnotes) -> Line {
    let record = &entry.row.record;
    let (seconds, package) = match &record.compilation {
        Some(it) if it.cache_hit => {
            (format!("{} (kept)", units::duration(it.seconds)), units::bytes(it.package_bytes))
        }
        Some(it) => (units::duration(it.seconds), units::bytes(it.package_bytes)),
        None => (ABSENT.to_owned(), ABSENT.to_owned()),
    };
    Line::Cells(vec![
        record.case.variant().into(),
        gain(entry.compilation).map(|it| cell(it, footnotes)).unwrap_or_default(),
        over_baseline(entry).map(|it| cell(it, footnotes)).unwrap_or_default(),
        seconds.into(),
        package.into(),
    ])
}

fn cell(gain: &Result<Gain, NoSpeedup>, footnotes: &mut Footnotes) -> Cell {
    match gain {
        Ok(gain) => {
            let text = units::ratio(gain.ratio, Some(gain.interval));
            Cell::new(text, verdict::of_verdict(gain.verdict()))
        }
        Err(why) => {
            let mark = footnotes.mark(format!("no speed-up: {why}"));
            Cell::new(format!("{ABSENT} {mark}"), Paint::Warn)
        }
    }
}

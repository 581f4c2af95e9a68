//! The table of one operator.

use std::collections::HashSet;

use statistics::Verdict;

use super::Block;
use crate::model::{
    EfficiencySource, NoEfficiency, NoSpeedup, OperatorResult, Speedup, Standing, Time,
};
use crate::units;
use crate::write::fusion::table::{no_time, time};
use crate::write::show::footnotes::{Footnotes, Note};
use crate::write::show::group::{level, speedup};
use crate::write::table::{ABSENT, Align, Cell, Line, Paint};
use crate::write::view::{Heading, Layout, Room, Table};
use crate::write::{failures, verdict};

const COLUMNS: [Heading; 11] = [
    ("", "", "", Align::Left),
    ("time", "", "", Align::Right),
    ("", "", "interval of time", Align::Left),
    ("speed-up", "", "", Align::Left),
    ("", "", "", Align::Left),
    ("GB/s", "", "GB/s", Align::Right),
    ("of limit", "", "", Align::Right),
    ("peak MiB", "", "peak MiB", Align::Right),
    ("gate", "", "gate", Align::Right),
    ("", "", "", Align::Left),
    ("", "", "", Align::Left),
];

/// The columns of the intervals of times, and of speed-ups.
const INTERVAL: usize = 2;
const SPEEDUP: usize = 3;
const GIVE_WAY: [usize; 4] = [8, 7, INTERVAL, 5];

/// One line per size and implementation, and footnotes. Only a terminal has no room for a column.
pub fn table(block: &Block<'_, '_>, room: Room) -> Table {
    let headings = [
        (INTERVAL, level(block.iter().filter_map(|it| time_level(it))).trim_start().to_owned()),
        (SPEEDUP, format!("{}{}", COLUMNS[SPEEDUP].0, level(speedups(block)))),
    ];
    let layout = Layout { columns: &COLUMNS, headings: &headings, give_way: &GIVE_WAY };
    layout.table(|footnotes| lines(block, footnotes), room)
}

fn time_level(result: &OperatorResult<'_>) -> Option<f64> {
    let Time { interval, confidence_level, .. } = result.row.time.as_ref().ok()?;
    interval.map(|_| *confidence_level)
}

fn speedups<'r>(block: &'r Block<'_, '_>) -> impl Iterator<Item = f64> + 'r {
    let speedups = block.iter().filter_map(|result| result.speedup.as_ref()?.as_ref().ok());
    speedups.map(|speedup: &Speedup| speedup.confidence_level)
}

/// The sizes, and below each its implementations; one line where all of them ended in the same way.
fn lines(block: &Block<'_, '_>, footnotes: &mut Footnotes) -> Vec<Line> {
    let sizes = || block.chunk_by(|a, b| a.key.work.size == b.key.work.size);
    let of_lines =
        sizes().flat_map(|siblings| if alike(siblings) { &siblings[..1] } else { siblings });
    let shared = failures::shared(of_lines.map(|result| result.row));
    let mut lines = Vec::new();
    for siblings in sizes() {
        lines.push(Line::Text(Cell::new(heading(siblings[0]), Paint::Dim)));
        if !alike(siblings) {
            lines.extend(siblings.iter().map(|result| line(result, &shared, footnotes)));
            continue;
        }
        lines.extend(failures::line(siblings[0].row, &shared, footnotes).map(|line| {
            let Line::Spanning(_, text) = line else { return line };
            Line::Spanning(format!("all {}", siblings.len()).into(), text)
        }));
    }
    lines
}

/// Whether several have no numbers for the same reason.
fn alike(siblings: &[&OperatorResult<'_>]) -> bool {
    let outcome = &siblings[0].row.record.outcome;
    let same = siblings.iter().all(|result| result.row.record.outcome == *outcome);
    siblings.len() > 1 && same && outcome.reason().is_some()
}

/// `  32x512x768  (96.0 MiB to move)`
fn heading(result: &OperatorResult<'_>) -> String {
    let bytes = result.bytes().map(|bytes| format!("  ({} to move)", units::bytes(bytes)));
    format!("  {}{}", result.key.work.size, bytes.unwrap_or_default())
}

/// The cells of one implementation at one size, in the order of the table's columns; or why it has no numbers.
fn line(result: &OperatorResult<'_>, shared: &HashSet<&str>, footnotes: &mut Footnotes) -> Line {
    let row = result.row;
    if let Some(line) = failures::line(row, shared, footnotes) {
        return line;
    }
    let memory = row.record.measures.memory.map(|memory| memory.peak_bytes());
    let rate = row.gb_per_s().map(|rate| units::significant(rate, 3));
    let gate = row.worst_gate().map(|gate| units::significant(gate.worst.0, 2));
    let pair = result.speedup.as_ref();
    Line::Cells(vec![
        result.variant().into(),
        time(row),
        interval(result).into(),
        pair.map(speedup).unwrap_or_default(),
        pair.and_then(|pair| pair.as_ref().ok()).map(sign).unwrap_or_default(),
        rate.unwrap_or_default().into(),
        of_limit(result),
        memory.map(mebibytes).unwrap_or_default().into(),
        gate.unwrap_or_default().into(),
        result.standing.map(standing).unwrap_or_default(),
        Cell::new(footnotes.marks(notes(result)), Paint::Warn),
    ])
}

/// `[12.30, 12.41]`, in the unit of the median.
fn interval(result: &OperatorResult<'_>) -> String {
    let Ok(time) = &result.row.time else { return String::new() };
    let text = units::time_with_interval(time.median_ns, time.interval);
    text.find('[').map(|start| text[start..].to_owned()).unwrap_or_default()
}

fn sign(speedup: &Speedup) -> Cell {
    let of = speedup.verdict();
    Cell::new(SIGNS[place(of)], verdict::of_verdict(of))
}

/// Signs of faster, slower, same, inconclusive.
pub const SIGNS: [&str; 4] = ["▲", "▼", "=", "?"];

const fn place(verdict: Verdict) -> usize {
    match verdict {
        Verdict::Faster => 0,
        Verdict::Slower => 1,
        Verdict::Same => 2,
        Verdict::Inconclusive => 3,
    }
}

fn of_limit(result: &OperatorResult<'_>) -> Cell {
    match &result.efficiency {
        Ok(efficiency) if efficiency.source == EfficiencySource::Itself => {
            Cell::new("limit", Paint::Dim)
        }
        Ok(efficiency) => units::percent(efficiency.share).into(),
        Err(NoEfficiency::NotMeasured) => Cell::default(),
        Err(_) => Cell::new(ABSENT, Paint::Warn),
    }
}

fn mebibytes(bytes: u64) -> String {
    units::significant(bytes as f64 / f64::from(1 << 20), 3)
}

fn standing(standing: Standing) -> Cell {
    let paint = match standing {
        Standing::Fastest => Paint::Good,
        Standing::Tied => Paint::Plain,
    };
    Cell::new(standing.word(), paint)
}

fn notes(result: &OperatorResult<'_>) -> Vec<Note> {
    let mut notes: Vec<Note> = no_time(result.row).into_iter().map(Note::from).collect();
    match &result.speedup {
        None | Some(Ok(_) | Err(NoSpeedup::NotMeasured)) => {}
        Some(Err(why)) => notes.push(format!("no speed-up: {why}").into()),
    }
    match &result.efficiency {
        Ok(_) | Err(NoEfficiency::NotMeasured | NoEfficiency::NoTime) => {}
        Err(why) => notes.push(format!("no limit: {why}").into()),
    }
    notes.extend(result.cautions.iter().map(Note::from));
    notes
}

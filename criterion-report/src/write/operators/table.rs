//! The table of one operator.

use super::Block;
use super::line::line;
use crate::model::{OperatorResult, Speedup, Time};
use crate::units;
use crate::write::failures;
use crate::write::show::footnotes::Footnotes;
use crate::write::show::group::level;
use crate::write::table::{Align, Cell, Line, Paint};
use crate::write::view::{Heading, Layout, Room, Table};

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

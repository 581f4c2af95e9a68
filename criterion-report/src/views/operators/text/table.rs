//! The table of one operator.

use std::collections::HashSet;

use plan::Latency;

use super::Block;
use crate::render::table::{ABSENT, Cell, Line, Paint};
use crate::render::units;
use crate::views::footnotes::{Footnotes, Note};
use crate::views::view::{Column, Layout, Room, Table, left, right, significant};
use crate::views::{EfficiencySource, NoEfficiency, OperatorResult, Standing};
use crate::views::{failures, verdict, view};

fn layout<'a>() -> Layout<OperatorResult<'a>> {
    Layout::of([
        left("", |it| it.entry.variant().into()),
        right("time", |it| failures::time(it.entry.row, |time| units::time(time.median_ns))),
        left("", interval)
            .level(|it| {
                let time = it.entry.row.time.as_ref().ok()?;
                time.interval.and(Some(time.confidence_level))
            })
            .gives_way(3, "interval of time"),
        left("speed-up", |it: &OperatorResult<'_>| {
            verdict::of_speedup(&it.entry, |speedup| verdict::of_verdict(speedup.verdict()))
        })
        .level(|it| Some(it.entry.speedup()?.confidence_level)),
        left("", sign),
        right("GB/s", |it: &OperatorResult<'_>| significant(it.entry.row.gb_per_s(), 3))
            .gives_way(4, "GB/s"),
        right("of limit", of_limit),
        right("peak MiB", |it: &OperatorResult<'_>| {
            let memory = it.entry.row.record.measures.memory;
            significant(memory.map(|it| it.peak_bytes() as f64 / f64::from(1 << 20)), 3)
        })
        .gives_way(2, "peak MiB"),
        right("gate", |it: &OperatorResult<'_>| {
            significant(it.entry.row.worst_gate().map(|gate| gate.worst.0), 2)
        })
        .gives_way(1, "gate"),
        left("", standing),
        right("machine", |it| view::machine(it.entry.row)),
    ])
}

/// The mean of single calls and their number; upstream's time is the mean of 100 calls.
fn means<'a>() -> [Column<OperatorResult<'a>>; 2] {
    fn latency(it: &OperatorResult<'_>) -> Option<Latency> {
        it.entry.row.record.measures.latency
    }
    [
        right("mean", |it| {
            latency(it).map(|it| units::time(it.mean_ns)).unwrap_or_default().into()
        }),
        right("calls", |it| latency(it).map(|it| it.calls.to_string()).unwrap_or_default().into()),
    ]
}

/// One line per size and implementation, and footnotes.
pub fn table(block: &Block<'_, '_>, mean: bool, room: Room) -> Table {
    // The columns come after the median and its interval.
    let layout = if mean { layout().with(3, means()) } else { layout() };
    layout.table(block, |footnotes| lines(&layout, block, footnotes), room)
}

/// The sizes, and below each its implementations; one line where all of them ended in the same way.
fn lines<'a>(
    layout: &Layout<OperatorResult<'a>>,
    block: &Block<'_, 'a>,
    footnotes: &mut Footnotes,
) -> Vec<Line> {
    let sizes = || block.chunk_by(|a, b| a.key.work.size == b.key.work.size);
    let of_lines =
        sizes().flat_map(|siblings| if alike(siblings) { &siblings[..1] } else { siblings });
    let shared: HashSet<&str> = failures::shared(of_lines.map(|result| result.entry.row));
    let mut lines = Vec::new();
    for siblings in sizes() {
        lines.push(Line::Text(Cell::new(heading(siblings[0]), Paint::Dim)));
        if !alike(siblings) {
            lines.extend(siblings.iter().map(|it| {
                let failure = failures::line(it.entry.row, &shared, footnotes);
                failure.unwrap_or_else(|| layout.line(it, notes(it), footnotes))
            }));
            continue;
        }
        lines.extend(failures::line(siblings[0].entry.row, &shared, footnotes).map(|line| {
            let Line::Spanning(_, text) = line else { return line };
            Line::Spanning(format!("all {}", siblings.len()).into(), text)
        }));
    }
    lines
}

/// Whether several have no numbers for the same reason.
fn alike(siblings: &[&OperatorResult<'_>]) -> bool {
    let outcome = &siblings[0].entry.row.record.outcome;
    let same = siblings.iter().all(|result| result.entry.row.record.outcome == *outcome);
    siblings.len() > 1 && same && outcome.reason().is_some()
}

/// `  32x512x768  (96.0 MiB to move)`
fn heading(result: &OperatorResult<'_>) -> String {
    let bytes = plan::cost::moved_bytes(&result.entry.row.record.case);
    let bytes = bytes.map(|bytes| format!("  ({} to move)", units::bytes(bytes)));
    format!("  {}{}", result.key.work.size, bytes.unwrap_or_default())
}

/// `[12.30, 12.41]`, in the unit of the median.
fn interval(result: &OperatorResult<'_>) -> Cell {
    let Ok(time) = &result.entry.row.time else { return Cell::default() };
    let text = units::time_with_interval(time.median_ns, time.interval);
    text.find('[').map(|start| text[start..].to_owned()).unwrap_or_default().into()
}

fn sign(result: &OperatorResult<'_>) -> Cell {
    let verdict = result.entry.speedup().map(|speedup| speedup.verdict());
    verdict.map(|it| Cell::new(verdict::sign(it), verdict::of_verdict(it))).unwrap_or_default()
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

fn standing(result: &OperatorResult<'_>) -> Cell {
    match result.standing {
        Some(Standing::Fastest) => Cell::new(Standing::Fastest.word(), Paint::Good),
        Some(Standing::Tied) => Standing::Tied.word().into(),
        None => Cell::default(),
    }
}

fn notes(result: &OperatorResult<'_>) -> Vec<Note> {
    let mut notes = failures::notes(&result.entry);
    match &result.efficiency {
        Ok(_) | Err(NoEfficiency::NotMeasured | NoEfficiency::NoTime) => {}
        Err(why) => notes.push(format!("no limit: {why}").into()),
    }
    notes.extend(result.cautions.iter().map(Note::from));
    notes
}

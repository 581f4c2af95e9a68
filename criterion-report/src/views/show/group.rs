//! The table of one criterion group.

use std::collections::HashSet;

use plan::{ProbeKind, Work};

use super::{INDENT, by_parameter, compiled, details, notes};
use crate::model::{Entry, Row, once};
use crate::render::table::{Align, Cell, Line, Paint, clear, render, table_width};
use crate::render::units::{self, ByteUnit};
use crate::views::footnotes::Footnotes;
use crate::views::view::{self, Room, level, paragraph};
use crate::views::{failures, verdict};

/// Columns that `--details` repeats, which give way, in this order, where the table is too wide.
const GIVE_WAY: [usize; 3] = [7, 6, 5];

/// Heading, prose, one line per case, the details if asked for, footnotes.
pub fn table(entries: &[Entry<'_>], details: bool, room: Room) -> String {
    let group = &entries[0].row.record.case.id.group;
    let mut out = room.bold(group);
    out.extend(prose(entries).into_iter().map(|text| paragraph(text, 2, Paint::Plain, room)));
    if let Some(text) = failures::common(entries.iter().map(|entry| entry.row), room) {
        return out + &text;
    }
    let time = format!("time{}", level(entries.iter().filter_map(time_level)));
    let speedup = format!("speed-up{}", level(entries.iter().filter_map(speedup_level)));
    let (unit, rate) = (unit(entries), Rate::from_entry(&entries[0]));
    let weights_heading = format!("weights {}", unit.name);
    // The unit stands above the first sizes.
    let is_model = entries[0].row.record.case.work.model().is_some();
    let step = if is_model { "step".to_owned() } else { format!("step {}", unit.name) };
    let columns = [
        ("", Align::Left),
        (time.as_str(), Align::Left),
        (speedup.as_str(), Align::Left),
        (if differs(entries) { "as called" } else { "" }, Align::Left),
        (rate.map_or("", Rate::heading), Align::Right),
        (weights_heading.as_str(), Align::Left),
        ("bits", Align::Right),
        (step.as_str(), Align::Right),
        ("SQNR", Align::Right),
        ("machine", Align::Right),
        ("", Align::Left),
    ];
    let weights_width = entries.iter().map(|entry| weights(entry, unit).len()).max().unwrap_or(0);
    let sizes = Sizes { unit, weights_width, rate };
    let shared = failures::shared(entries.iter().map(|entry| entry.row));
    let lines = |footnotes: &mut Footnotes| {
        by_parameter(entries.iter().copied(), |entry| [line(entry, sizes, &shared, footnotes)])
    };
    let fit = |lines: &[Line]| table_width(&columns, lines, INDENT) <= room.width;
    let (mut lines, mut footnotes) = Footnotes::new(lines, fit);
    footnotes.whole = details;
    for column in GIVE_WAY {
        if table_width(&columns, &lines, INDENT) > room.width {
            clear(column, &mut lines);
        }
    }
    out.push_str(&render(&columns, &lines, INDENT, room.width, room.colour));
    out.push_str(&compiled::table(entries, &mut footnotes, room));
    if details {
        out.push_str(&details::tables(entries, &mut footnotes, room));
    }
    out.push_str(&footnotes.render(room.width, room.colour));
    out
}

#[derive(Clone, Copy)]
struct Sizes {
    unit: ByteUnit,
    /// Characters of the longest size of weights.
    weights_width: usize,
    rate: Option<Rate>,
}

/// The rate shown beside a case's time; all cases of a group have the same.
#[derive(Clone, Copy)]
enum Rate {
    /// Operations per second: patterns, products.
    Flops,
    /// Bytes per second: operators, STREAM.
    Bytes,
    /// Time to queue a step: launches, calls. On the host nothing is queued.
    Queueing,
}

impl Rate {
    /// None of models: the speed-up is what is asked of them.
    fn from_entry(entry: &Entry<'_>) -> Option<Self> {
        match &entry.row.record.case.work {
            Work::Model(_) => None,
            Work::Fusion(_) => Some(Self::Flops),
            Work::Operator(_) => Some(Self::Bytes),
            Work::Probe(work) => Some(match work.probe.kind() {
                ProbeKind::Product => Self::Flops,
                ProbeKind::Stream => Self::Bytes,
                ProbeKind::Launch | ProbeKind::Call => Self::Queueing,
            }),
            Work::Kernel(_) => {
                let counts = entry.row.record.kernel.as_ref()?;
                counts.bytes.map(|_| Self::Bytes).or(counts.flops.map(|_| Self::Flops))
            }
        }
    }

    const fn heading(self) -> &'static str {
        match self {
            Self::Flops => "GFLOP/s",
            Self::Bytes => "GB/s",
            Self::Queueing => "queueing",
        }
    }

    fn cell(self, row: &Row) -> Option<String> {
        match self {
            Self::Flops => Some(units::significant(row.gflop_per_s()?, 4)),
            Self::Bytes => Some(units::significant(row.gb_per_s()?, 4)),
            Self::Queueing => Some(units::time(row.record.measures.clocks?.queue_ns)),
        }
    }
}

/// One unit for all sizes of a table: the largest of which the smallest weights are a tenth and
/// the least that a step allocates, if anything, is a thousandth; a tenth where no weights are shown.
fn unit(entries: &[Entry<'_>]) -> ByteUnit {
    let peak = |entry: &Entry<'_>| {
        let peak_bytes = entry.row.record.measures.memory?.step.peak_bytes;
        // Without weights the steps decide alone.
        let factor = if entry.row.record.case.work.model().is_some() { 1000 } else { 10 };
        Some(peak_bytes.saturating_mul(factor))
    };
    let weights = |entry: &Entry<'_>| weights_bytes(entry).map(|bytes| bytes.saturating_mul(10));
    let sizes = entries.iter().flat_map(|entry| [weights(entry), peak(entry)]).flatten();
    ByteUnit::for_bytes(sizes.filter(|size| *size > 0).min().unwrap_or(0))
}

/// The configs' descriptions of these cases, each text once.
fn prose<'a>(entries: &[Entry<'a>]) -> Vec<&'a str> {
    once(entries.iter().filter_map(|it| it.row.record.case.settings.analysis.as_deref()))
}

/// Bytes of a model's parameters. A pattern's are the same in every variant, and a probe has none.
fn weights_bytes(entry: &Entry<'_>) -> Option<u64> {
    entry.row.record.case.work.model()?;
    Some(entry.row.record.measures.memory?.weights_bytes)
}

fn weights(entry: &Entry<'_>, unit: ByteUnit) -> String {
    weights_bytes(entry).map(|bytes| unit.number(bytes)).unwrap_or_default()
}

fn time_level(entry: &Entry<'_>) -> Option<f64> {
    let time = entry.row.time.as_ref().ok()?;
    time.interval.map(|_| time.confidence_level)
}

fn speedup_level(entry: &Entry<'_>) -> Option<f64> {
    entry.speedup().map(|speedup| speedup.confidence_level)
}

/// Whether a caller has another speed-up than the device in any of the cases.
fn differs(entries: &[Entry<'_>]) -> bool {
    entries.iter().filter_map(Entry::speedup).any(|it| it.differs_as_called().is_some())
}

fn line(
    entry: &Entry<'_>,
    sizes: Sizes,
    shared: &HashSet<&str>,
    footnotes: &mut Footnotes,
) -> Line {
    let record = &entry.row.record;
    if let Some(line) = failures::line(entry.row, shared, footnotes) {
        return line;
    }
    // A probe is asked for its speed alone; `--details` has the rest.
    let beyond_speed = record.case.work.probe().is_none();
    let memory = record.measures.memory.filter(|_| beyond_speed);
    let step = memory.map(|memory| sizes.unit.number(memory.step.peak_bytes));
    let bits = record.weights.map(|weights| units::significant(weights.bits_per_weight, 3));
    let accuracy = entry.row.accuracy().filter(|_| beyond_speed);
    let sqnr = accuracy.map(|accuracy| units::decibels(accuracy.sqnr_db.0));
    let marks = footnotes.marks(notes(entry));
    Line::Cells(vec![
        record.case.variant().into(),
        failures::time(entry.row, |it| units::time_with_interval(it.median_ns, it.interval)),
        verdict::of_speedup(entry, |it| verdict::of_verdict(it.verdict())),
        verdict::as_called(entry),
        sizes.rate.and_then(|rate| rate.cell(entry.row)).unwrap_or_default().into(),
        weights_cell(entry, sizes),
        bits.unwrap_or_default().into(),
        step.unwrap_or_default().into(),
        sqnr.unwrap_or_default().into(),
        view::machine(entry.row),
        Cell::new(marks, Paint::Warn),
    ])
}

fn weights_cell(entry: &Entry<'_>, sizes: Sizes) -> Cell {
    let Sizes { unit, weights_width: width, .. } = sizes;
    if weights_bytes(entry).is_none() {
        return Cell::default();
    }
    let reduction = entry.comparison.and_then(|comparison| comparison.weights_reduction);
    let reduction = reduction.map(|fraction| format!(" {:>6}", units::reduction(fraction)));
    format!("{:>width$}{}", weights(entry, unit), reduction.unwrap_or_default()).into()
}

//! `operators`: how fast each implementation is, as tables for people or as a list for programs.

use std::collections::HashSet;
use std::io::Write;

use anyhow::{Result, bail};
use clap::ColorChoice;
use plan::{Dtype, Latency, Outcome};

pub use super::json::Item;
pub use super::means::{Axis, Mean};
use super::{json, means};
use crate::model::{Key, gather};
use crate::read::Report;
use crate::render::table::screen;
use crate::render::table::{ABSENT, Cell, Line, Paint};
use crate::render::units;
use crate::views::footnotes::{Footnotes, Note};
pub use crate::views::view::Format;
use crate::views::view::{
    Column, Layout, Room, Table, left, machine, page, paragraph, right, significant,
};
use crate::views::{EfficiencySource, NoEfficiency, OperatorResult, Rank};
use crate::views::{
    failures, verdict,
    written::{Notes, Target, print},
};

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Tables for people, or JSON with every field of upstream's results
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
    /// Show means per value of this axis instead of every case
    ///
    /// Means are geometric, over the other two axes.
    #[arg(long, value_enum, value_name = "AXIS")]
    pub by: Option<Axis>,
    /// Write only the JSON that upstream's scripts can read
    ///
    /// These are the cases with a time, without `stream`; the others are counted on stderr. Their
    /// `gpu_efficiency` is upstream's formula, 100 over the milliseconds and at most 100.
    #[arg(long)]
    pub upstream_compat: bool,
    /// Show the mean of single calls beside the median
    ///
    /// It is the mean of the latency pass, which times calls one by one; `latency.calls` of a
    /// config sets their number. The JSON array always has it.
    #[arg(long)]
    pub mean: bool,
    /// When to colour the tables
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
}

pub fn write(
    report: &Report,
    options: &Options,
    target: Target<'_>,
    out: &mut dyn Write,
) -> Result<Notes> {
    match options.format {
        Format::Json if options.by.is_some() => bail!(
            "--by applies to the tables only: the JSON array has every case\n  leave out one of \
             --by and --format json"
        ),
        Format::Json if options.mean => bail!(
            "--mean applies to the tables only: the JSON array always has mean_time_ms\n  leave \
             out one of --mean and --format json"
        ),
        Format::Table if options.mean && options.by.is_some() => bail!(
            "--mean applies to cases, and --by shows none\n  leave out one of --mean and --by"
        ),
        Format::Table if options.upstream_compat => {
            bail!(
                "--upstream-compat applies to the JSON array only\n  add --format json, or \
                   leave it out"
            )
        }
        Format::Table | Format::Json => {}
    }
    let results = OperatorResult::all(report);
    if results.is_empty() && report.missing.is_empty() {
        bail!(
            "the records of `{}` hold no operator case\n  measure some with `cargo bench --bench \
             operators`",
            report.baseline
        );
    }
    if options.format == Format::Json {
        return json::array(report, &results, options.upstream_compat, out);
    }
    let room = Room::new(target, options.color);
    print(out, &screen(&tables(report, &results, options, room), room.colour))
}

/// Circumstances, the tables, and how the cases ended.
fn tables(
    report: &Report,
    results: &[OperatorResult<'_>],
    &Options { by, mean, .. }: &Options,
    room: Room,
) -> String {
    let title = |title: &str, block: &Block<'_, '_>| {
        let Key { dtype, place, .. } = &block[0].key;
        let circumstances = format!("{} on {place}", dtype.plain());
        room.bold(title) + &paragraph(&circumstances, 2, Paint::Dim, room)
    };
    let operators = gather(results, |it| (&it.entry.row.record.case.id.group, block_of(it)));
    let of_operator = |block: &Block<'_, '_>| {
        let first = block[0].entry.row;
        let rows = block.iter().map(|it| it.entry.row);
        failures::titled(title(&first.record.case.id.group, block), rows, room, || match by {
            Some(axis) => means::along(axis, block, room),
            None => table(block, mean, room),
        })
    };
    let mut tables: Vec<Table> = operators.iter().map(of_operator).collect();
    let measured = |it: &&OperatorResult<'_>| it.entry.row.record.outcome == Outcome::Measured;
    for block in gather(results, |it| (&it.entry.row.record.case.config, block_of(it))) {
        // Why nothing was measured stands in the tables.
        if by.is_none() && block.iter().any(measured) {
            let config = &block[0].entry.row.record.case.config;
            let title = title(&format!("summary of {config}"), &block);
            tables.push(means::summary(&block, room).below(title));
        }
    }
    let remarks = remarks(results, by).into_iter();
    let remarks: String = remarks.map(|it| paragraph(&it, 0, Paint::Plain, room)).collect();
    page(report, tables, None, room) + &remarks
}

/// Cases whose tables are longer than anyone reads.
const MANY: usize = 200;

/// Remarks: the meaning of signs and means, how to get a missing limit, and how to get fewer lines.
fn remarks(results: &[OperatorResult<'_>], by: Option<Axis>) -> Vec<String> {
    let mut texts = Vec::new();
    if results.iter().any(|result| result.entry.speedup().is_some()) {
        texts.push(
            "▲ faster than `aten`, ▼ slower, = the same to ±1 %, ? left open; means are geometric"
                .to_owned(),
        );
    }
    let without = |result: &&OperatorResult<'_>| {
        matches!(result.efficiency, Err(NoEfficiency::NoLimit { .. }))
    };
    let without = results.iter().filter(without).count();
    if without > 0 {
        texts.push(format!(
            "{} without a limit: measure `stream` beside them (`cargo bench --bench operators -- \
             /stream/`), or the bandwidth of the machine on as many threads (`cargo bench --bench \
             calibration`)",
            units::count(without, "case"),
        ));
    }
    if by.is_none() && results.len() > MANY {
        texts.push(
            "`--by batch`, `sequence` or `dimension` has means instead of all these cases, \
             `--filter` takes some of them"
                .to_owned(),
        );
    }
    texts
}

/// Results of one operator or of all operators of one config, of one dtype and place.
type Block<'r, 'a> = Vec<&'r OperatorResult<'a>>;

fn block_of(result: &OperatorResult<'_>) -> (Dtype, String) {
    (result.key.dtype, result.key.place.to_string())
}

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
        right("machine", |it| machine(it.entry.row)),
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
fn table(block: &Block<'_, '_>, mean: bool, room: Room) -> Table {
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
        Some(Rank::Fastest) => Cell::new(Rank::Fastest.word(), Paint::Good),
        Some(Rank::Tied) => Rank::Tied.word().into(),
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

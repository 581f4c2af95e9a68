//! `training`: what the parts of a training step take, what recipes gain in them, and from which shapes on a
//! recipe gains; as tables and maps for people, or as a document for programs.

use anyhow::{Result, bail};
use clap::ColorChoice;
use plan::Pass;

pub use super::json::Document;
use crate::model::{Key, NoSpeedup, Row, gather};
use crate::read::Report;
use crate::render::json_text;
use crate::render::table::screen;
use crate::render::table::{ABSENT, Cell, Line, Paint};
use crate::render::units;
use crate::views::footnotes::{Footnotes, Note};
use crate::views::training::{Block, TrainingResult, map};
use crate::views::verdict::{of_verdict, sign};
pub use crate::views::view::Format;
use crate::views::view::{
    Layout, Room, Table, heading, left, machine, page, paragraph, right, significant,
};
use crate::views::{failures, written::Target};

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Tables and maps for people, or JSON
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
    /// Print only the maps: from which M, K and N a recipe gains
    #[arg(long)]
    pub crossover: bool,
    /// When to colour the tables
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
}

pub fn write(report: &Report, options: &Options, target: Target<'_>) -> Result<String> {
    let results = TrainingResult::all(report);
    if results.is_empty() && report.missing.is_empty() {
        bail!(
            "the records of `{}` hold no training case\n  measure some with `cargo bench --bench \
             training`",
            report.baseline
        );
    }
    if options.format == Format::Json {
        if options.crossover {
            bail!(
                "--crossover applies to the tables only: the JSON has both\n  leave out one of \
                   --crossover and --format json"
            );
        }
        return Ok(json_text::document(&Document::of(report, &results))?);
    }
    let room = Room::new(target, options.color);
    let mut tables = Vec::new();
    for block in TrainingResult::blocks(&results) {
        let title = title(&block, room);
        if !options.crossover {
            let rows = block.iter().flat_map(|it| it.rows());
            tables.push(failures::titled(title.clone(), rows, room, || times(&block, room)));
            tables.push(speedups(&block, room));
        }
        let maps = map::maps(&block, room);
        let heading = if options.crossover { title } else { String::new() };
        tables.push(Table { text: heading + &maps, ..Table::default() });
    }
    Ok(screen(&page(report, tables, None, room), room.colour))
}

fn title(block: &Block<'_, '_>, room: Room) -> String {
    let Key { work, dtype, place } = &block[0].key;
    let title = room.bold(&format!("training/{}/{}", block[0].config, work.model));
    title + &paragraph(&format!("{} on {place}", dtype.plain()), 2, Paint::Dim, room)
}

fn times_layout<'a>() -> Layout<TrainingResult<'a>> {
    Layout::of([
        left("", |it: &TrainingResult<'_>| it.variant().into()),
        right("forward", |it: &TrainingResult<'_>| time(it, Pass::Forward)),
        right("backward", |it: &TrainingResult<'_>| time(it, Pass::Backward)),
        right("both", |it: &TrainingResult<'_>| time(it, Pass::ForwardBackward)),
        right("sum", |it: &TrainingResult<'_>| excess(it)).gives_way(5, "sum"),
        right("SGD step", |it: &TrainingResult<'_>| time(it, Pass::StepSgd)),
        right("AdamW step", |it: &TrainingResult<'_>| time(it, Pass::StepAdamw)),
        // The baseline, which has no casts, runs another pass in their group.
        right("casts", |it: &TrainingResult<'_>| match it.is_unquantized() {
            true => Cell::default(),
            false => time(it, Pass::Casts),
        }),
        right("products", |it: &TrainingResult<'_>| time(it, Pass::Products))
            .gives_way(2, "products"),
        right("GFLOP/s", |it: &TrainingResult<'_>| {
            significant(it.rate.map(|it| it.gflop_per_s), 3)
        })
        .gives_way(1, "GFLOP/s"),
        right("of peak", |it: &TrainingResult<'_>| {
            it.rate.and_then(|it| it.peak_share).map(units::percent).unwrap_or_default().into()
        })
        .gives_way(4, "of peak"),
        right("kept", |it: &TrainingResult<'_>| {
            it.saved_bytes().map(units::bytes).unwrap_or_default().into()
        })
        .gives_way(3, "kept for backward"),
        right("machine", |it: &TrainingResult<'_>| machine(it.first().row)),
    ])
}

fn speedups_layout<'a>() -> Layout<TrainingResult<'a>> {
    let level = |it: &TrainingResult<'_>| Some(it.speedup(Pass::ForwardBackward)?.confidence_level);
    Layout::of([
        left("", |it: &TrainingResult<'_>| it.variant().into()),
        left("forward", |it: &TrainingResult<'_>| short(it, Pass::Forward)).gives_way(3, "forward"),
        left("backward", |it: &TrainingResult<'_>| short(it, Pass::Backward))
            .gives_way(4, "backward"),
        left("both", |it: &TrainingResult<'_>| of_speedup(it, Pass::ForwardBackward, true))
            .level(level),
        left("SGD step", |it: &TrainingResult<'_>| short(it, Pass::StepSgd))
            .gives_way(2, "SGD step"),
        left("AdamW step", |it: &TrainingResult<'_>| short(it, Pass::StepAdamw))
            .gives_way(1, "AdamW step"),
        left("products", |it: &TrainingResult<'_>| short(it, Pass::Products)),
        right("casts", |it: &TrainingResult<'_>| {
            it.casts_share().map(|it| units::percent(it.value)).unwrap_or_default().into()
        })
        .below("of baseline"),
        right("SQNR", |it: &TrainingResult<'_>| sqnr(it, Row::output_sqnr_db)).below("output"),
        right("∂input", |it: &TrainingResult<'_>| sqnr(it, Row::grad_input_sqnr_db)),
        right("∂weight", |it: &TrainingResult<'_>| sqnr(it, Row::grad_weight_sqnr_db)),
        right("machine", |it: &TrainingResult<'_>| machine(it.first().row)),
    ])
}

/// The times of the parts of a step, at each shape.
fn times(block: &Block<'_, '_>, room: Room) -> Table {
    let layout = times_layout();
    let lines = |footnotes: &mut Footnotes| {
        of_shapes(block, |it| {
            failed(it).unwrap_or_else(|| layout.line(it, time_notes(it), footnotes))
        })
    };
    layout.table(block, lines, room)
}

/// The candidates' gains over the baseline, part by part, at each shape.
fn speedups(block: &Block<'_, '_>, room: Room) -> Table {
    let rows: Vec<&TrainingResult<'_>> =
        block.iter().copied().filter(|it| !it.is_baseline() && failed(it).is_none()).collect();
    if rows.is_empty() {
        return Table::default();
    }
    let layout = speedups_layout();
    let lines = |footnotes: &mut Footnotes| {
        of_shapes(&rows, |it| layout.line(it, speedup_notes(it), footnotes))
    };
    let table = layout.table(&rows, lines, room);
    let text = "  speed-up over the same part of the baseline";
    table.below(format!("{}\n", Paint::Dim.on(text, room.colour)))
}

/// The shapes, and below each the lines of its results.
fn of_shapes<'r, 'a>(
    results: &[&'r TrainingResult<'a>],
    mut line: impl FnMut(&'r TrainingResult<'a>) -> Line,
) -> Vec<Line> {
    let mut lines = Vec::new();
    for siblings in gather(results.iter().copied(), |it| it.key.work.shape.to_string()) {
        let names = siblings[0].first().row.record.case.shape_names.join(", ");
        lines.push(heading(siblings[0].key.work.shape, &names));
        lines.extend(siblings.into_iter().map(&mut line));
    }
    lines
}

/// One line for a result of which no part was measured.
fn failed(result: &TrainingResult<'_>) -> Option<Line> {
    let mut rows = result.rows();
    let outcome = &rows.next()?.record.outcome;
    let reason = outcome.reason()?;
    rows.all(|row| row.record.outcome == *outcome).then(|| {
        let paint = if outcome.is_failure() { Paint::Bad } else { Paint::Warn };
        let text = Cell::new(format!("{}: {reason}", outcome.status()), paint);
        Line::Spanning(result.variant().into(), text)
    })
}

fn time(result: &TrainingResult<'_>, pass: Pass) -> Cell {
    let time = |row: &Row| failures::time(row, |time| units::time(time.median_ns));
    result.part(pass).map(|entry| time(entry.row)).unwrap_or_default()
}

/// By how much forward + backward take longer than both together.
fn excess(result: &TrainingResult<'_>) -> Cell {
    let Some(additivity) = result.additivity() else { return Cell::default() };
    let paint = if additivity.holds() { Paint::Dim } else { Paint::Warn };
    Cell::new(format!("{:+.1} %", additivity.excess * 100.0), paint)
}

/// Without its interval, for which there is no room.
fn short(result: &TrainingResult<'_>, pass: Pass) -> Cell {
    of_speedup(result, pass, false)
}

fn of_speedup(result: &TrainingResult<'_>, pass: Pass, with_interval: bool) -> Cell {
    let Some(entry) = result.part(pass) else { return Cell::default() };
    match entry.comparison.map(|comparison| &comparison.speedup) {
        Some(Ok(it)) => {
            let interval = Some(it.interval).filter(|_| with_interval);
            let text = format!("{} {}", units::ratio(it.ratio, interval), sign(it.verdict()));
            Cell::new(text, of_verdict(it.verdict()))
        }
        Some(Err(NoSpeedup::Emulated)) => Cell::new("emulated", Paint::Warn),
        None | Some(Err(NoSpeedup::NotMeasured)) => Cell::default(),
        Some(Err(_)) => Cell::new(ABSENT, Paint::Warn),
    }
}

/// Decibels of the output or of a gradient.
fn sqnr(result: &TrainingResult<'_>, of: fn(&Row) -> Option<f64>) -> Cell {
    result.sqnr_db(of).map(units::decibels).unwrap_or_default().into()
}

fn time_notes(result: &TrainingResult<'_>) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for entry in result.parts() {
        let reason = entry.row.record.outcome.reason();
        let pass = entry.row.pass().map(|pass| pass.to_string()).unwrap_or_default();
        notes.extend(reason.map(|reason| {
            format!("{pass} {}: {reason}", entry.row.record.outcome.status()).into()
        }));
        notes.extend(entry.row.cautions().iter().map(Note::from));
    }
    let additivity = result.additivity().and_then(|it| it.caution());
    notes.extend(additivity.iter().map(Note::from));
    notes
}

fn speedup_notes(result: &TrainingResult<'_>) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for entry in result.parts() {
        let without = entry.comparison.and_then(|it| it.speedup.as_ref().err());
        let without = without.filter(|why| **why != NoSpeedup::NotMeasured);
        notes.extend(without.map(|why| match why {
            NoSpeedup::Emulated => why.to_string().into(),
            _ => format!("no speed-up: {why}").into(),
        }));
        let cautions = entry.comparison.map(|it| it.cautions.as_slice()).unwrap_or_default();
        notes.extend(cautions.iter().map(Note::from));
    }
    notes
}

//! The tables of one model: what the parts of a step take, and what recipes gain in them.

use plan::Pass;

use super::Block;
use crate::model::{NoSpeedup, Row};
use crate::render::table::{ABSENT, Cell, Line, Paint};
use crate::render::units;
use crate::views::calibration::Skyline;
use crate::views::footnotes::{Footnotes, Note};
use crate::views::training::{Rate, TrainingResult};
use crate::views::verdict::{of_verdict, sign};
use crate::views::view::{Layout, Room, Table, left, right, significant};
use crate::views::{failures, view};

/// A result with its rate.
struct Timed<'r, 'a> {
    result: &'r TrainingResult<'a>,
    rate: Option<Rate>,
}

fn times_layout<'r, 'a: 'r>() -> Layout<Timed<'r, 'a>> {
    Layout::of([
        left("", |it: &Timed<'_, '_>| it.result.variant().into()),
        right("forward", |it: &Timed<'_, '_>| time(it.result, Pass::Forward)),
        right("backward", |it: &Timed<'_, '_>| time(it.result, Pass::Backward)),
        right("both", |it: &Timed<'_, '_>| time(it.result, Pass::ForwardBackward)),
        right("sum", |it: &Timed<'_, '_>| excess(it.result)).gives_way(5, "sum"),
        right("SGD step", |it: &Timed<'_, '_>| time(it.result, Pass::StepSgd)),
        right("AdamW step", |it: &Timed<'_, '_>| time(it.result, Pass::StepAdamw)),
        right("casts", |it: &Timed<'_, '_>| own_time(it.result, Pass::Casts)),
        right("products", |it: &Timed<'_, '_>| time(it.result, Pass::Products))
            .gives_way(2, "products"),
        right("GFLOP/s", |it: &Timed<'_, '_>| significant(it.rate.map(|it| it.gflop_per_s), 3))
            .gives_way(1, "GFLOP/s"),
        right("of peak", |it: &Timed<'_, '_>| {
            it.rate.and_then(|it| it.peak_share).map(units::percent).unwrap_or_default().into()
        })
        .gives_way(4, "of peak"),
        right("kept", |it: &Timed<'_, '_>| {
            it.result.saved_bytes().map(units::bytes).unwrap_or_default().into()
        })
        .gives_way(3, "kept for backward"),
        right("machine", |it: &Timed<'_, '_>| machine(it.result)),
    ])
}

fn speedups_layout<'a>() -> Layout<TrainingResult<'a>> {
    let level = |it: &TrainingResult<'_>| Some(it.speedup(Pass::ForwardBackward)?.confidence_level);
    Layout::of([
        left("", |it: &TrainingResult<'_>| it.variant().into()),
        left("forward", |it: &TrainingResult<'_>| short(it, Pass::Forward)).gives_way(3, "forward"),
        left("backward", |it: &TrainingResult<'_>| short(it, Pass::Backward))
            .gives_way(4, "backward"),
        left("both", |it: &TrainingResult<'_>| speedup(it, Pass::ForwardBackward)).level(level),
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
        right("machine", |it: &TrainingResult<'_>| machine(it)),
    ])
}

/// The parts of a result are of one machine.
fn machine(result: &TrainingResult<'_>) -> Cell {
    result.rows().next().map(view::machine).unwrap_or_default()
}

/// What the parts of a step take, at each shape.
pub fn times(block: &Block<'_, '_>, skylines: &[Skyline], title: &str, room: Room) -> Table {
    if let Some(text) = failures::common(block.iter().flat_map(|it| it.rows())) {
        let text = title.to_owned() + &failures::table(&text, room);
        return Table { text, ..Table::default() };
    }
    let timed = |result| Timed { result, rate: Rate::of(result, skylines) };
    let timed: Vec<Timed<'_, '_>> = block.iter().map(|result| timed(*result)).collect();
    let (layout, rows) = (times_layout(), timed.iter().collect::<Vec<_>>());
    let lines = |footnotes: &mut Footnotes| {
        let mut lines = Vec::new();
        for siblings in of_shapes(&rows, |it| it.result) {
            lines.push(heading(siblings[0].result));
            lines.extend(siblings.iter().map(|it| {
                let failed = failed(it.result);
                failed.unwrap_or_else(|| layout.line(it, time_notes(it.result), footnotes))
            }));
        }
        lines
    };
    let table = layout.table(&rows, lines, room);
    Table { text: title.to_owned() + &table.text, ..table }
}

/// What the candidates gain over the baseline, part by part, at each shape.
pub fn speedups(block: &Block<'_, '_>, room: Room) -> Table {
    let rows: Vec<&TrainingResult<'_>> =
        block.iter().copied().filter(|it| !it.is_baseline() && failed(it).is_none()).collect();
    if rows.is_empty() {
        return Table::default();
    }
    let layout = speedups_layout();
    let lines = |footnotes: &mut Footnotes| {
        let mut lines = Vec::new();
        for siblings in of_shapes(&rows, |it| it) {
            lines.push(heading(siblings[0]));
            lines.extend(siblings.iter().map(|it| layout.line(it, speedup_notes(it), footnotes)));
        }
        lines
    };
    let table = layout.table(&rows, lines, room);
    let text = "  speed-up over the same part of the baseline".to_owned();
    Table { text: format!("{}\n{}", Paint::Dim.on(&text, room.colour), table.text), ..table }
}

fn of_shapes<'s, 'a: 's, T>(
    rows: &'s [&'s T],
    of: impl Fn(&'s T) -> &'s TrainingResult<'a>,
) -> Vec<Vec<&'s T>> {
    crate::model::gather(rows.iter().copied(), |it| of(it).key.work.shape.to_string())
}

fn heading(result: &TrainingResult<'_>) -> Line {
    let names = &result.parts().next().map_or(&[][..], |it| &it.row.record.case.shape_names);
    let names = if names.is_empty() { String::new() } else { format!("  ({})", names.join(", ")) };
    Line::Text(Cell::new(format!("  {}{names}", result.key.work.shape), Paint::Dim))
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
    let text = |time: &crate::model::Time| units::time(time.median_ns);
    result.part(pass).map(|entry| failures::time(entry.row, text)).unwrap_or_default()
}

/// The time of the casts; the baseline, which has none, runs another pass in their group.
fn own_time(result: &TrainingResult<'_>, pass: Pass) -> Cell {
    if result.is_unquantized() { Cell::default() } else { time(result, pass) }
}

/// By how much forward + backward take longer than both together.
fn excess(result: &TrainingResult<'_>) -> Cell {
    let Some(additivity) = result.additivity() else { return Cell::default() };
    let paint = if additivity.holds() { Paint::Dim } else { Paint::Warn };
    Cell::new(format!("{:+.1} %", additivity.excess * 100.0), paint)
}

fn speedup(result: &TrainingResult<'_>, pass: Pass) -> Cell {
    of_speedup(result, pass, true)
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

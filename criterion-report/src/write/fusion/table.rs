//! The table of one pattern.

use statistics::{Band, Benefit};

use crate::model::{FusionResult, NoSpeedup, NoTime, Row, Side, other_products, sdpa_dispatch};
use crate::units;
use crate::write::failures;
use crate::write::show::footnotes::{Footnotes, Note};
use crate::write::show::group::level;
use crate::write::table::{ABSENT, Align, Cell, Line, Paint, wrap};
use crate::write::verdict;
use crate::write::view::{Heading, Layout, Room, Table};

/// Where columns have a second line, the first says how its numbers came about.
const COLUMNS: [Heading; 10] = [
    ("", "", "", Align::Left),
    ("time", "", "", Align::Right),
    ("speed-up", "", "", Align::Left),
    ("benefit", "", "", Align::Left),
    ("GFLOP/s", "", "GFLOP/s", Align::Right),
    ("formula", "bytes", "formula bytes", Align::Right),
    ("formula", "upstream", "formula upstream", Align::Right),
    ("measured", "peak", "measured peak", Align::Right),
    ("measured", "total", "measured total", Align::Right),
    ("", "", "", Align::Left),
];
const SPEEDUP: usize = 2;
const GIVE_WAY: [usize; 5] = [8, 6, 4, 5, 7];

/// Heading, one line per size and variant, footnotes, and what the kernels explain. Only a terminal
/// has no room for a column; text keeps to `width`.
pub fn table(results: &[&FusionResult<'_>], room: Room) -> Table {
    let Room { width, colour, .. } = room;
    let title = room.bold(&results[0].row.record.case.id.group);
    if let Some(text) = failures::common(results.iter().map(|result| result.row)) {
        let text = title + &failures::render(&text, width, colour);
        return Table { text, left_out: Vec::new() };
    }
    let shared = failures::shared(results.iter().map(|result| result.row));
    let lines = |footnotes: &mut Footnotes| {
        let mut lines = Vec::new();
        for parameter in results.chunk_by(|a, b| id(a.row) == id(b.row)) {
            lines.push(Line::Text(Cell::new(heading(parameter[0].row), Paint::Dim)));
            lines.push(unfused(parameter[0], footnotes));
            lines.extend(parameter.iter().map(|result| {
                let failure = failures::line(result.row, &shared, footnotes);
                failure.unwrap_or_else(|| line(result, footnotes))
            }));
        }
        lines
    };
    let levels = results.iter().filter_map(|it| Some(it.speedup.as_ref().ok()?.confidence_level));
    let headings = [(SPEEDUP, format!("{}{}", COLUMNS[SPEEDUP].0, level(levels)))];
    let layout = Layout { columns: &COLUMNS, headings: &headings, give_way: &GIVE_WAY };
    let Table { text, left_out } = layout.table(lines, room);
    let explained = products(results, room) + &dispatch(results, room);
    Table { text: title + &text + &explained, left_out }
}

fn id(row: &Row) -> &str {
    &row.record.case.id.parameter
}

fn heading(row: &Row) -> String {
    let names = &row.record.case.shape_names;
    let names = if names.is_empty() { String::new() } else { format!("  ({})", names.join(", ")) };
    format!("  {}{names}", id(row))
}

/// The unfused operations: what the lines below are compared with.
fn unfused(result: &FusionResult<'_>, footnotes: &mut Footnotes) -> Line {
    let variant = "unfused";
    let side = &result.unfused;
    let Some(row) = side.row else {
        let text = "no record; the speed-ups need none";
        return Line::Spanning(variant.into(), Cell::new(text, Paint::Warn));
    };
    if let Some(line) = failures::line(row, &Default::default(), footnotes) {
        return line;
    }
    let mut notes: Vec<Note> = no_time(row).into_iter().map(Note::from).collect();
    notes.extend(row.cautions().iter().map(Note::from));
    let bytes = |bytes: Option<u64>| Cell::from(bytes.map(units::bytes).unwrap_or_default());
    let allocated = side.allocated();
    Line::Cells(vec![
        variant.into(),
        time(row),
        Cell::default(),
        Cell::default(),
        gflop_per_s(side),
        bytes(side.consistent_bytes),
        bytes(side.upstream_bytes),
        bytes(allocated.map(|step| step.peak_bytes)),
        bytes(allocated.map(|step| step.total_bytes)),
        Cell::new(footnotes.marks(notes), Paint::Warn),
    ])
}

fn line(result: &FusionResult<'_>, footnotes: &mut Footnotes) -> Line {
    let change = |reduction: Option<f64>| {
        Cell::from(reduction.map_or_else(|| ABSENT.to_owned(), units::reduction))
    };
    Line::Cells(vec![
        result.variant().into(),
        time(result.row),
        speedup(result),
        benefit(result),
        gflop_per_s(&result.fused),
        change(result.consistent_reduction()),
        change(result.memory_reduction()),
        change(result.peak_allocation_reduction()),
        change(result.total_allocation_reduction()),
        Cell::new(footnotes.marks(notes(result)), Paint::Warn),
    ])
}

/// The median alone, or why there is none.
pub(in crate::write) fn time(row: &Row) -> Cell {
    match &row.time {
        Ok(time) => units::time(time.median_ns).into(),
        Err(NoTime::NotMeasured) => Cell::new(row.record.outcome.status(), Paint::Warn),
        Err(why) => Cell::new(if why.is_stale() { "stale" } else { "no time" }, Paint::Warn),
    }
}

fn gflop_per_s(side: &Side<'_>) -> Cell {
    side.gflop_per_s().map(|rate| units::significant(rate, 3)).unwrap_or_default().into()
}

fn speedup(result: &FusionResult<'_>) -> Cell {
    match &result.speedup {
        Ok(speedup) => {
            let text = units::ratio(speedup.ratio, Some(speedup.interval));
            Cell::new(text, verdict::of_benefit(speedup.benefit()))
        }
        Err(NoSpeedup::NotMeasured) => Cell::default(),
        Err(_) => Cell::new(ABSENT, Paint::Warn),
    }
}

fn benefit(result: &FusionResult<'_>) -> Cell {
    let cell = |benefit: Benefit| Cell::new(benefit.word(), verdict::of_benefit(benefit));
    result.benefit().map(cell).unwrap_or_default()
}

fn notes(result: &FusionResult<'_>) -> Vec<Note> {
    let mut notes: Vec<Note> = no_time(result.row).into_iter().map(Note::from).collect();
    match &result.speedup {
        Ok(_) | Err(NoSpeedup::NotMeasured) => {}
        Err(why) => notes.push(format!("no speed-up: {why}").into()),
    }
    if let Some(Benefit::Inconclusive { lowest, highest }) = result.benefit() {
        let [lowest, highest] = [lowest, highest].map(Band::word);
        let text = format!("inconclusive: the interval reaches from {lowest} to {highest}");
        let kind = "inconclusive: the interval reaches over several benefits";
        notes.push(Note::of_kind(kind, text));
    }
    notes.extend(result.cautions.iter().map(Note::from));
    notes
}

/// Why a measured row has no time.
pub(in crate::write) fn no_time(row: &Row) -> Option<String> {
    let why = row.time.as_ref().err()?;
    (*why != NoTime::NotMeasured).then(|| why.to_string())
}

/// Why tensors without an axis of heads say nothing about fusing, where they were slower or faster.
fn dispatch(results: &[&FusionResult<'_>], room: Room) -> String {
    let Some(kernels) = sdpa_dispatch(results) else { return String::new() };
    let short = |kernel: &str| kernel.trim_start_matches("aten::_scaled_dot_product_").to_owned();
    let text = format!(
        "`sdpa-3d` runs {}, `fused` {}: a difference of kernels",
        short(kernels.without_heads),
        short(kernels.with_heads),
    );
    explanation(&text, room)
}

/// The variants with another product than `unfused`, which are not faster or slower by fusing alone.
fn products(results: &[&FusionResult<'_>], room: Room) -> String {
    let Some(others) = other_products(results) else { return String::new() };
    let names: Vec<String> = others.variants.iter().map(|it| format!("`{it}`")).collect();
    let text = format!(
        "{}: oneDNN's product ({}), not the BLAS library's ({})",
        names.join(", "),
        others.kernels.join(", "),
        others.unfused.join(", "),
    );
    explanation(&text, room)
}

fn explanation(text: &str, room: Room) -> String {
    let lines = wrap(text, room.width - Layout::INDENT);
    lines.iter().map(|part| format!("    {}\n", Paint::Dim.on(part, room.colour))).collect()
}

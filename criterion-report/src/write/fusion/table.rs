//! The table of one pattern.

use statistics::{Band, Benefit};

use crate::model::{FusionResult, NoSpeedup, NoTime, Row, Side, other_products, sdpa_dispatch};
use crate::units;
use crate::write::failures;
use crate::write::show::ABSENT;
use crate::write::show::footnotes::{Footnotes, Note};
use crate::write::show::group::level;
use crate::write::table::{
    Align, Cell, Line, Paint, clear, fit, is_empty, render, table_width, wrap,
};
use crate::write::verdict;

/// The columns: heading, what stands below it, alignment.
const COLUMNS: [(&str, &str, Align); 10] = [
    ("", "", Align::Left),
    ("time", "", Align::Right),
    ("speed-up", "", Align::Left),
    ("benefit", "", Align::Left),
    ("GFLOP/s", "", Align::Right),
    ("formula", "bytes", Align::Right),
    ("formula", "upstream", Align::Right),
    ("measured", "peak", Align::Right),
    ("measured", "total", Align::Right),
    ("", "", Align::Left),
];

/// The column of speed-ups.
const SPEEDUP: usize = 2;
/// Columns that give way, in this order, where the table is too wide.
const GIVE_WAY: [usize; 5] = [8, 6, 4, 5, 7];
const INDENT: usize = 4;

/// A table, and which columns it had no room for.
pub struct Table {
    pub text: String,
    pub left_out: Vec<String>,
}

/// Heading, one line per size and variant, footnotes, and what the kernels explain. Only a terminal
/// has no room for a column; text keeps to `width`.
pub fn table(
    results: &[&FusionResult<'_>],
    room: Option<usize>,
    width: usize,
    colour: bool,
) -> Table {
    let case = &results[0].row.record.case;
    let mut out = format!("{}\n", Paint::Bold.on(&case.id.group, colour));
    if let Some(text) = failures::common(results.iter().map(|result| result.row)) {
        let text = out + &failures::render(&text, width, colour);
        return Table { text, left_out: Vec::new() };
    }
    let below = COLUMNS.map(|(_, below, _)| Cell::new(below, Paint::Dim));
    let shared = failures::shared(results.iter().map(|result| result.row));
    let lines = |footnotes: &mut Footnotes| {
        let mut lines = vec![Line::Cells(below.to_vec())];
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
    let speedup = format!("{}{}", COLUMNS[SPEEDUP].0, level(levels));
    let mut columns = COLUMNS.map(|(heading, _, align)| (heading, align));
    columns[SPEEDUP].0 = &speedup;
    let has_room =
        |lines: &[Line]| room.is_none_or(|room| table_width(&columns, lines, INDENT) <= room);
    let (mut lines, footnotes) = Footnotes::of(lines, has_room);
    for column in 0..columns.len() {
        if is_empty(column, &lines[1..]) {
            clear(column, &mut lines);
        }
    }
    let left_out = fit(&columns, &mut lines, INDENT, room, &GIVE_WAY);
    let left_out = left_out.into_iter().map(|column| {
        let (heading, below, _) = COLUMNS[column];
        format!("{heading} {below}").trim_end().to_owned()
    });
    let left_out = left_out.collect();
    if let Line::Cells(below) = &lines[0]
        && below.iter().all(|cell| cell.text.is_empty())
    {
        lines.remove(0);
    }
    out.push_str(&render(&columns, &lines, INDENT, width, colour));
    out.push_str(&footnotes.render(width, colour));
    out += &products(results, width, colour);
    out += &dispatch(results, width, colour);
    Table { text: out, left_out }
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

/// What the reader must know of the line's numbers.
fn notes(result: &FusionResult<'_>) -> Vec<Note> {
    let mut notes: Vec<Note> = no_time(result.row).into_iter().map(Note::from).collect();
    match &result.speedup {
        Ok(_) | Err(NoSpeedup::NotMeasured) => {}
        Err(why) => notes.push(format!("no speed-up: {why}").into()),
    }
    if let Some(Benefit::Inconclusive { lowest, highest }) = result.benefit() {
        let [lowest, highest] = [lowest, highest].map(Band::word);
        let text = format!("inconclusive: the interval reaches from {lowest} to {highest}");
        notes.push(text.into());
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
fn dispatch(results: &[&FusionResult<'_>], width: usize, colour: bool) -> String {
    let Some(kernels) = sdpa_dispatch(results) else { return String::new() };
    let text = format!(
        "`sdpa-3d` and `fused` differ because libtorch runs {} for tensors without an axis of \
         heads, and {} for those with one: that is a matter of the kernel, not of fusing.",
        kernels.without_heads, kernels.with_heads,
    );
    explanation(&text, width, colour)
}

/// The variants with another product than `unfused`, which are not faster or slower by fusing alone.
fn products(results: &[&FusionResult<'_>], width: usize, colour: bool) -> String {
    let Some(others) = other_products(results) else { return String::new() };
    let names: Vec<String> = others.variants.iter().map(|it| format!("`{it}`")).collect();
    let text = format!(
        "In float32 the product of {} is oneDNN's ({}), that of `unfused` ({}) the BLAS library's \
         that libtorch was built with: such a speed-up is not fusion's alone.",
        names.join(", "),
        others.kernels.join(", "),
        others.unfused.join(", "),
    );
    explanation(&text, width, colour)
}

fn explanation(text: &str, width: usize, colour: bool) -> String {
    let lines = wrap(text, width - INDENT);
    lines.iter().map(|part| format!("    {}\n", Paint::Dim.on(part, colour))).collect()
}

//! The table of one pattern.

use std::collections::HashSet;

use statistics::{Band, Benefit};

use crate::render::table::{ABSENT, Cell, Line, Paint};
use crate::render::units;
use crate::views::footnotes::{Footnotes, Note};
use crate::views::view::{Layout, Room, Table, left, paragraph, right, significant};
use crate::views::{Accounting, FusionResult, other_products, saved, sdpa_dispatch};
use crate::views::{failures, verdict, view};

/// Where columns have a second line, the first says how its numbers came about.
fn layout<'a>() -> Layout<FusionResult<'a>> {
    Layout::of([
        left("", |it| it.entry.variant().into()),
        right("time", |it| failures::time(it.entry.row, |time| units::time(time.median_ns))),
        left("speed-up", |it: &FusionResult<'_>| {
            verdict::of_speedup(&it.entry, |speedup| verdict::of_benefit(speedup.benefit()))
        })
        .level(|it| Some(it.entry.speedup()?.confidence_level)),
        left("benefit", benefit),
        right("GFLOP/s", |it: &FusionResult<'_>| significant(it.entry.row.gflop_per_s(), 3))
            .gives_way(3, "GFLOP/s"),
        right("formula", |it: &FusionResult<'_>| bytes(it, Accounting::Consistent))
            .below("bytes")
            .gives_way(4, "formula bytes"),
        right("formula", |it: &FusionResult<'_>| bytes(it, Accounting::Upstream))
            .below("upstream")
            .gives_way(2, "formula upstream"),
        right("measured", |it: &FusionResult<'_>| bytes(it, Accounting::Peak))
            .below("peak")
            .gives_way(5, "measured peak"),
        right("measured", |it: &FusionResult<'_>| bytes(it, Accounting::Total))
            .below("total")
            .gives_way(1, "measured total"),
        right("machine", |it: &FusionResult<'_>| view::machine(it.entry.row)),
    ])
}

/// Heading, one line per size and variant, footnotes, and what the kernels explain.
pub fn table(results: &[&FusionResult<'_>], room: Room) -> Table {
    let title = room.bold(&results[0].entry.row.record.case.id.group);
    if let Some(text) = failures::common(results.iter().map(|result| result.entry.row)) {
        let text = title + &failures::table(&text, room);
        return Table { text, ..Table::default() };
    }
    let shared = failures::shared(results.iter().map(|result| result.entry.row));
    let layout = layout();
    let lines = |footnotes: &mut Footnotes| {
        let mut lines = Vec::new();
        for parameter in results.chunk_by(|a, b| id(a) == id(b)) {
            lines.push(Line::Text(Cell::new(heading(parameter[0]), Paint::Dim)));
            lines.push(match parameter[0].unfused() {
                Some(unfused) => line(&layout, &unfused, &HashSet::new(), footnotes),
                None => {
                    let text = "no record; the speed-ups need none";
                    Line::Spanning("unfused".into(), Cell::new(text, Paint::Warn))
                }
            });
            lines.extend(parameter.iter().map(|it| line(&layout, it, &shared, footnotes)));
        }
        lines
    };
    let Table { text, left_out } = layout.table(results, lines, room);
    let explained = [products(results), dispatch(results)].into_iter().flatten();
    let explained: String = explained.map(|it| paragraph(&it, 4, Paint::Dim, room)).collect();
    Table { text: title + &text + &explained, left_out }
}

fn line<'a>(
    layout: &Layout<FusionResult<'a>>,
    result: &FusionResult<'a>,
    shared: &HashSet<&str>,
    footnotes: &mut Footnotes,
) -> Line {
    let failure = failures::line(result.entry.row, shared, footnotes);
    failure.unwrap_or_else(|| layout.line(result, notes(result), footnotes))
}

fn id<'r>(result: &'r FusionResult<'_>) -> &'r str {
    &result.entry.row.record.case.id.parameter
}

fn heading(result: &FusionResult<'_>) -> String {
    let names = &result.entry.row.record.case.shape_names;
    let names = if names.is_empty() { String::new() } else { format!("  ({})", names.join(", ")) };
    format!("  {}{names}", id(result))
}

fn benefit(result: &FusionResult<'_>) -> Cell {
    let cell = |benefit: Benefit| Cell::new(benefit.word(), verdict::of_benefit(benefit));
    result.benefit().map(cell).unwrap_or_default()
}

/// The bytes of the unfused operations, and by how much those of a variant differ from them.
fn bytes(result: &FusionResult<'_>, by: Accounting) -> Cell {
    let bytes = result.bytes(by);
    Cell::from(match result.entry.comparison {
        None => bytes[1].map(units::bytes).unwrap_or_default(),
        Some(_) => saved(bytes).map_or_else(|| ABSENT.to_owned(), units::reduction),
    })
}

fn notes(result: &FusionResult<'_>) -> Vec<Note> {
    let mut notes = failures::notes(&result.entry);
    if let Some(Benefit::Inconclusive { lowest, highest }) = result.benefit() {
        let [lowest, highest] = [lowest, highest].map(Band::word);
        let text = format!("inconclusive: the interval reaches from {lowest} to {highest}");
        let kind = "inconclusive: the interval reaches over several benefits";
        notes.push(Note::of_kind(kind, text));
    }
    notes.extend(result.cautions.iter().map(Note::from));
    notes
}

/// Why tensors without an axis of heads say nothing about fusing, where they were slower or faster.
fn dispatch(results: &[&FusionResult<'_>]) -> Option<String> {
    let [without_heads, with_heads] = sdpa_dispatch(results)?
        .map(|kernel| kernel.trim_start_matches("aten::_scaled_dot_product_"));
    Some(format!("`sdpa-3d` runs {without_heads}, `fused` {with_heads}: a difference of kernels"))
}

/// The variants with another product than `unfused`, which are not faster or slower by fusing alone.
fn products(results: &[&FusionResult<'_>]) -> Option<String> {
    let others = other_products(results)?;
    let names: Vec<String> = others.variants.iter().map(|it| format!("`{it}`")).collect();
    Some(format!(
        "{}: oneDNN's product ({}), not the BLAS library's ({})",
        names.join(", "),
        others.kernels.join(", "),
        others.unfused.join(", "),
    ))
}

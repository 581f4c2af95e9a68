//! `fusion`: what fusing gains, as a table for people, or for programs as a document of upstream's
//! result dictionaries under their own names, then what they lack.

use std::collections::{BTreeSet, HashSet};

use anyhow::{Result, bail};
use clap::ColorChoice;
use plan::Environment;
use statistics::{Band, Benefit};

use crate::model::{Circumstances, gather};
use crate::read::{Missing, Report};
use crate::render::json_text;
use crate::render::object::document;
use crate::render::table::screen;
use crate::render::table::{ABSENT, Cell, Line, Paint};
use crate::render::units;
use crate::views::footnotes::{Footnotes, Note};
use crate::views::strategy::strategy;
pub use crate::views::view::Format;
use crate::views::view::{
    Layout, Room, Table, left, machine, page, paragraph, parameter_heading, right, significant,
};
use crate::views::{
    Accounting, FusionItem, FusionResult, PatternAdvice, other_products, saved, sdpa_dispatch,
};
use crate::views::{failures, verdict, written::Target};

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Table for people, or JSON with every key of upstream's results
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
    /// When to colour the table
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
}

pub fn write(report: &Report, options: &Options, target: Target<'_>) -> Result<String> {
    let results = FusionResult::all(report);
    if results.is_empty() && report.missing.is_empty() {
        let read = report.rows_read;
        let found = match read {
            0 => format!("the records of `{}` hold no fusion case", report.baseline),
            _ => {
                format!("none of the {} shown is fused", units::count(read, "recorded fusion case"))
            }
        };
        bail!("{found}\n  measure some with `cargo bench --bench fusion`");
    }
    let advice = PatternAdvice::all(&results);
    if options.format == Format::Json {
        return Ok(json_text::document(&Document::of(report, &results, &advice))?);
    }
    let room = Room::new(target, options.color);
    let patterns =
        gather(&results, |it| (&it.entry.row.record.case.id.group, it.key.place.to_string()));
    let table = |block: &Vec<&FusionResult<'_>>| {
        let title = room.bold(&block[0].entry.row.record.case.id.group);
        failures::titled(title, block.iter().map(|it| it.entry.row), room, || table(block, room))
    };
    let tables = patterns.iter().map(table).collect();
    let advice = strategy(&advice, room.width, room.colour);
    Ok(screen(&page(report, tables, Some(&advice), room), room.colour))
}

// The names are part of the command's contract.
document! {
    /// The gain of fusing, and whether to fuse.
    pub struct Document<'a> =
    of(report: &'a Report, results: &'a [FusionResult<'a>], advice: &[PatternAdvice]) {
        schema: &'static str = "criterion-torch/fusion",
        version: u32 = 1,
        /// The name of the results that were read.
        baseline: &'a str = &report.baseline,
        environments: Vec<Circumstance<'a>> =
            report.circumstances.iter().map(Circumstance::of).collect(),
        /// A variant at a size each.
        results: Vec<FusionItem<'a>> = results.iter().map(FusionItem::of).collect(),
        strategy: Vec<PatternAdvice> =
            advice.iter().map(PatternAdvice::without_evidence).collect(),
        /// Cases that a run selected and did not reach, and why.
        missing: &'a [Missing] = &report.missing,
    }

    /// A machine with its libraries and revision.
    struct Circumstance<'a> = of(of: &'a Circumstances) {
        #[serde(flatten)]
        environment: &'a Environment = &of.environment,
        threads: &'a BTreeSet<u32> = &of.threads,
        allocators: &'a BTreeSet<String> = &of.allocators,
        cuda_devices: &'a BTreeSet<String> = &of.cuda_devices,
        first_timestamp: u64 = of.first,
        last_timestamp: u64 = of.last,
        cases: usize = of.rows,
    }
}

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
        right("machine", |it: &FusionResult<'_>| machine(it.entry.row)),
    ])
}

/// One line per size and variant, footnotes, and what the kernels explain.
fn table(results: &[&FusionResult<'_>], room: Room) -> Table {
    let shared = failures::shared(results.iter().map(|result| result.entry.row));
    let layout = layout();
    let lines = |footnotes: &mut Footnotes| {
        let mut lines = Vec::new();
        for parameter in results.chunk_by(|a, b| id(a) == id(b)) {
            lines.push(parameter_heading(&parameter[0].entry));
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
    Table { text: text + &explained, left_out }
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

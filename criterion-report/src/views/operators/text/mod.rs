//! `operators`: how fast each implementation is, as tables for people or as a list for programs.

mod json;
mod summary;
mod table;

use std::io::Write;

use anyhow::{Result, bail};
use clap::ColorChoice;
use plan::Outcome;

use crate::model::{Key, gather};
use crate::read::Report;
use crate::render::table::Paint;
use crate::render::table::screen;
use crate::render::units;
pub use crate::views::view::Format;
use crate::views::view::{Room, Table, page, paragraph};
use crate::views::{Axis, NoEfficiency, OperatorResult};
use crate::views::{
    failures,
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
    let room = Room::of(target, options.color);
    print(out, &screen(&tables(report, &results, options, room), room.colour))
}

/// Circumstances, the tables, and how the cases ended.
fn tables(
    report: &Report,
    results: &[OperatorResult<'_>],
    &Options { by, mean, .. }: &Options,
    room: Room,
) -> String {
    let mut tables = Vec::new();
    let mut put = |title: &str, block: &Block<'_, '_>, table: Table| {
        let heading = room.bold(title) + &paragraph(&circumstances(block), 2, Paint::Dim, room);
        tables.push(Table { text: heading + &table.text, ..table });
    };
    for block in of_groups(results) {
        let table = match (failures::common(block.iter().map(|it| it.entry.row)), by) {
            (Some(text), _) => Table { text: failures::table(&text, room), ..Table::default() },
            (None, Some(axis)) => summary::along(axis, &block, room),
            (None, None) => table::table(&block, mean, room),
        };
        put(&block[0].entry.row.record.case.id.group, &block, table);
    }
    let measured = |it: &&OperatorResult<'_>| it.entry.row.record.outcome == Outcome::Measured;
    for block in of_configs(results) {
        // Why nothing was measured stands in the tables.
        if by.is_none() && block.iter().any(measured) {
            let title = format!("summary of {}", block[0].entry.row.record.case.config);
            put(&title, &block, summary::summary(&block, room));
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

pub type Block<'r, 'a> = Vec<&'r OperatorResult<'a>>;

/// Results of one operator: of one criterion group, dtype and place.
fn of_groups<'r, 'a>(results: &'r [OperatorResult<'a>]) -> Vec<Block<'r, 'a>> {
    gather(results, |it| {
        (&it.entry.row.record.case.id.group, it.key.dtype, it.key.place.to_string())
    })
}

/// Results of all operators of one config, dtype and place.
fn of_configs<'r, 'a>(results: &'r [OperatorResult<'a>]) -> Vec<Block<'r, 'a>> {
    gather(results, |it| (&it.entry.row.record.case.config, it.key.dtype, it.key.place.to_string()))
}

/// The place in which the block's cases were measured: `float32 on cpu (AMD EPYC 7763), 1 thread`.
fn circumstances(block: &Block<'_, '_>) -> String {
    let Key { dtype, place, .. } = &block[0].key;
    format!("{} on {place}", dtype.plain())
}

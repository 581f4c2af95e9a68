//! `fusion`: what fusing gains, as a table for people, or for programs as a document of upstream's
//! result dictionaries under their own names, then what they lack.

pub(crate) mod strategy;
mod table;

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use clap::ColorChoice;
use plan::Environment;

use crate::model::{Circumstances, gather};
use crate::read::Report;
use crate::render::json_text::{self, Style};
use crate::render::object::{document, object};
use crate::render::table::screen;
use crate::render::units;
pub use crate::views::view::Format;
use crate::views::view::{Room, page};
use crate::views::written::Target;
use crate::views::{FusionResult, PatternAdvice};

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
        let document = Document { report, results: &results, advice: &advice };
        return Ok(json_text::to_string(&document, Style::Pretty)? + "\n");
    }
    let room = Room::of(target, options.color);
    let patterns =
        gather(&results, |it| (&it.entry.row.record.case.id.group, it.key.place.to_string()));
    let tables = patterns.iter().map(|block| table::table(block, room)).collect();
    let advice = strategy::strategy(&advice, room.width, room.colour);
    Ok(screen(&page(report, tables, Some(&advice), room), room.colour))
}

struct Document<'a> {
    report: &'a Report,
    results: &'a [FusionResult<'a>],
    advice: &'a [PatternAdvice],
}

// The names are part of the command's contract.
object! {
    Document<'_> => |it| {
        "schema": "criterion-torch/fusion",
        "version": 1,
        "baseline": it.report.baseline,
        "environments": it.report.circumstances.iter().map(Circumstance::of).collect::<Vec<_>>(),
        "results": it.results,
        "strategy": it.advice.iter().map(PatternAdvice::without_evidence).collect::<Vec<_>>(),
        "missing": it.report.missing,
    }
}

document! {
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

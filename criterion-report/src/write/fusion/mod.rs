//! `fusion`: what fusing gains, as a table for people or as a document for programs.

mod json;
pub(super) mod strategy;
pub(super) mod table;

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use clap::ColorChoice;

use super::show::{footer, header};
pub use super::view::Format;
use super::view::Room;
use super::{Target, screen};
use crate::model::{FusionResult, PatternAdvice, Report, gather};
use crate::units;

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
    Ok(match options.format {
        Format::Json => json::document(report, &results, &advice)?,
        Format::Table => {
            let room = Room::of(target, options.color);
            screen(&tables(report, &results, &advice, room), room.colour)
        }
    })
}

/// Circumstances, a table per pattern, what to do, and how the cases ended.
fn tables(
    report: &Report,
    results: &[FusionResult<'_>],
    advice: &[PatternAdvice],
    room: Room,
) -> String {
    let Room { width, colour, .. } = room;
    let mut out = header::header(report, width, colour);
    let mut left_out = BTreeSet::new();
    for block in gather(results, |it| (&it.row.record.case.id.group, it.key.place.to_string())) {
        out.push('\n');
        let table = table::table(&block, room);
        out.push_str(&table.text);
        left_out.extend(table.left_out);
    }
    out.push('\n');
    out.push_str(&strategy::strategy(advice, width, colour));
    out.push('\n');
    out.push_str(&footer::footer(report, width, colour));
    out.push_str(&footer::left_out(&left_out, width));
    out
}

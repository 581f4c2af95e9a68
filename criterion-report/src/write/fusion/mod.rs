//! `fusion`: what fusing gains, as a table for people or as a document for programs.

pub(crate) mod json;
pub(super) mod strategy;
pub(super) mod table;

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use clap::ColorChoice;

use super::show::{NARROWEST, WIDTH, footer, header};
use super::{Target, screen};
use crate::model::{FusionResult, PatternAdvice, Report};
use crate::units;

/// What `fusion` can be told.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// A table for people, or a JSON document with every key of upstream's result dictionary
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
    /// When to colour the table; `auto` colours on a terminal unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
}

/// How `fusion` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A table for people.
    Table,
    /// A JSON document.
    Json,
}

impl Format {
    /// Whether it is prose and tables; those say the report's warnings, too.
    pub const fn is_for_people(self) -> bool {
        match self {
            Self::Table => true,
            Self::Json => false,
        }
    }
}

/// The variants of patterns among a report's cases.
///
/// # Errors
/// There are none.
pub fn write(report: &Report, options: &Options, target: Target<'_>) -> Result<String> {
    let results = FusionResult::all(report);
    if results.is_empty() && report.missing.is_empty() {
        let read = report.rows_read();
        let found = match read {
            0 => format!("the records of `{}` hold no fusion case", report.baseline),
            _ => format!("of {} none shown is fused", units::count(read, "recorded fusion case")),
        };
        bail!("{found}\n  measure some with `cargo bench --bench fusion`");
    }
    let advice = PatternAdvice::all(&results);
    Ok(match options.format {
        Format::Json => json::document(report, &results, &advice)?,
        Format::Table => {
            let colour = match options.color {
                ColorChoice::Always => true,
                ColorChoice::Never => false,
                ColorChoice::Auto => target.colour_terminal,
            };
            let terminal = target.width.map(|columns| columns.max(NARROWEST));
            let room = Room { terminal, width: terminal.unwrap_or(WIDTH), colour };
            screen(&tables(report, &results, &advice, room), colour)
        }
    })
}

/// What there is to write on.
#[derive(Clone, Copy)]
struct Room {
    /// Columns of a terminal, for tables: elsewhere they have all their columns.
    terminal: Option<usize>,
    /// Columns that text keeps to.
    width: usize,
    colour: bool,
}

/// Circumstances, a table per pattern, what to do, and how the cases ended.
fn tables(
    report: &Report,
    results: &[FusionResult<'_>],
    advice: &[PatternAdvice],
    Room { terminal, width, colour }: Room,
) -> String {
    let mut out = header::header(report, width, colour);
    let mut left_out = BTreeSet::new();
    for block in blocks(results) {
        out.push('\n');
        let table = table::table(&block, terminal, width, colour);
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

/// Results of one place and criterion group, in the order in which these first appear.
fn blocks<'r, 'a>(results: &'r [FusionResult<'a>]) -> Vec<Vec<&'r FusionResult<'a>>> {
    let mut blocks: Vec<Vec<&FusionResult<'_>>> = Vec::new();
    let group = |result: &FusionResult<'a>| &result.row.record.case.id.group;
    for result in results {
        let own = |block: &&mut Vec<&FusionResult<'a>>| {
            group(block[0]) == group(result) && block[0].key.place == result.key.place
        };
        match blocks.iter_mut().find(own) {
            Some(block) => block.push(result),
            None => blocks.push(vec![result]),
        }
    }
    blocks
}

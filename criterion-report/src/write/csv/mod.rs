//! `csv`: the columns of torchao's microbenchmarks, in one of two layouts, with torchao's conventions:
//! an absent value is an empty cell, booleans are Python's. Times are medians in milliseconds.
//! Nothing is rounded.

mod cases;
mod columns;
mod v_final;

use std::io::Write;

use anyhow::Result;

use super::{Notes, in_order};
use crate::model::Report;

/// What `csv` can be told.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct Options {
    /// What a line is
    ///
    /// `v-final` has four times and three speed-ups: of the recipe over the unquantized model, both
    /// eager; of the same, both compiled; and of the compiled recipe over the eager one. Those of two
    /// cases that were not partners follow from the pairs of both with the eager baseline. Packed
    /// variants, preallocated outputs and what is no model have no place in it; they are counted on
    /// stderr, and what was not measured is named there.
    #[arg(long, value_enum, default_value = "cases")]
    pub layout: Layout,
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Layout {
    /// A case, compiled or not: torchao's columns of July 2025, and ours behind them
    #[default]
    Cases,
    /// A recipe at a shape in a compile mode, eager and compiled side by side: exactly the columns
    /// that torchao had last
    VFinal,
}

/// The report as CSV, a heading line first.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(report: &Report, options: Options, out: &mut dyn Write) -> Result<Notes> {
    match options.layout {
        Layout::Cases => cases::write(report, out),
        Layout::VFinal => v_final::write(report, out),
    }
}

/// A heading, and a line of as many cells for each item.
fn table<T: Sync>(
    out: &mut dyn Write,
    heading: Vec<&str>,
    items: &[T],
    cells: impl Fn(&T) -> Vec<String> + Sync,
) -> Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(heading)?;
    in_order(items, |item| Ok(cells(item)), |cells| Ok(writer.write_record(cells)?))?;
    Ok(writer.flush()?)
}

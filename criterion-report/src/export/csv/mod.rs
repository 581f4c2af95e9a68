//! `csv`: the columns of torchao's microbenchmarks, in one of three layouts, with torchao's conventions:
//! an absent value is an empty cell, booleans are Python's. Times are medians in milliseconds.
//! Nothing is rounded.

mod cases;
mod columns;
mod training;
mod v_final;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;

pub use cases::{Column, columns};

use crate::read::Report;
use crate::render::in_order::in_order;
use crate::views::choice::{self, Choice};
use crate::views::written::Notes;

#[derive(Debug, Clone, Default, clap::Args)]
pub struct Options {
    /// The meaning of a line
    #[arg(long, value_enum, default_value = "cases")]
    pub layout: Layout,
    /// Write texts as they are, for programs
    ///
    /// Otherwise a text that a spreadsheet would execute as a formula gets a `'` in front.
    #[arg(long)]
    pub raw: bool,
    /// Only these values, in this order; `--columns help` lists them
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "layout")]
    pub columns: Vec<Choice>,
    /// Write where torchao's runner does: `output_dir` of each config, or DIR instead
    ///
    /// In its folder `inference` or `training` then lie `results_<ddmmyyyy_HHMMSS>.csv` (UTC), the
    /// traces in `profiler` and the memory snapshots in `memory_profiler`. A relative path begins at
    /// the current folder.
    #[arg(
        long,
        value_name = "DIR",
        num_args = 0..=1,
        require_equals = true,
        conflicts_with = "columns"
    )]
    pub torchao_output: Option<Option<PathBuf>>,
}

/// The meaning of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Layout {
    /// A case, compiled or not: torchao's columns of July 2025, then ours
    #[default]
    Cases,
    /// A recipe at a shape, eager and compiled: exactly torchao's last columns
    ///
    /// Cases that have no place in them are counted on stderr.
    VFinal,
    /// A recipe at a shape in training: torchao's columns of training, then why cells are empty
    ///
    /// The shares of a peak are of upstream's constants, those of an H100 with sparsity.
    Training,
}

/// The report as CSV, a heading line first.
pub fn write(report: &Report, options: &Options, out: &mut dyn Write) -> Result<Notes> {
    match options.layout {
        Layout::Cases => {
            let chosen = choice::fields(&options.columns).unwrap_or_default();
            cases::write(report, options.raw, &chosen, out)
        }
        Layout::VFinal => v_final::write(report, options.raw, out),
        Layout::Training => training::write(report, options.raw, out),
    }
}

/// A heading, and a line of as many cells for each item.
fn table<T: Sync>(
    out: &mut dyn Write,
    raw: bool,
    heading: Vec<&str>,
    items: &[T],
    cells: impl Fn(&T) -> Vec<String> + Sync,
) -> Result<()> {
    let cells = |item: &T| {
        let cells = cells(item);
        if raw { cells } else { cells.into_iter().map(inert).collect() }
    };
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(heading)?;
    in_order(items, |item| Ok(cells(item)), |cells| Ok(writer.write_record(cells)?))?;
    Ok(writer.flush()?)
}

/// A cell that no spreadsheet executes.
fn inert(cell: String) -> String {
    let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
    if is_formula && cell.parse::<f64>().is_err() { format!("'{cell}") } else { cell }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_become_text_and_numbers_stay_numbers() {
        for formula in
            ["=1+1", "+A1", "-A1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "-", "+-1"]
        {
            assert_eq!(inert(formula.to_owned()), format!("'{formula}"));
        }
        for text in
            ["-1.5", "-1e-9", "+3", "-inf", "int8wo+compile", "a=1", "", " =1", "'=1", "1-2"]
        {
            assert_eq!(inert(text.to_owned()), text);
        }
    }
}

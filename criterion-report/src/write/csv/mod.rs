//! `csv`: the columns of torchao's microbenchmarks, in one of two layouts, with torchao's conventions:
//! an absent value is an empty cell, booleans are Python's. Times are medians in milliseconds.
//! Nothing is rounded.

mod cases;
mod columns;
mod v_final;

use std::io::Write;

use anyhow::Result;

pub use cases::{Column, columns};

use super::choice::{self, Choice};
use super::{Notes, in_order};
use crate::model::Report;

/// What `csv` can be told.
#[derive(Debug, Clone, Default, clap::Args)]
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
    /// Write every text as it is, for programs
    ///
    /// Otherwise a text that a spreadsheet would take for a formula and execute has a `'` before it, as
    /// OWASP advises: one that begins with `=`, `+`, `-`, `@`, a tab or a line break. Numbers have none.
    #[arg(long)]
    pub raw: bool,
    /// Write these values only, in this order; `--columns help` lists them
    ///
    /// Columns are named as without this option, times in milliseconds included; one that is not
    /// among those has its name of the list.
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "layout")]
    pub columns: Vec<Choice>,
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
pub fn write(report: &Report, options: &Options, out: &mut dyn Write) -> Result<Notes> {
    match options.layout {
        Layout::Cases => {
            let chosen = choice::fields(&options.columns).unwrap_or_default();
            cases::write(report, options.raw, &chosen, out)
        }
        Layout::VFinal => v_final::write(report, options.raw, out),
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

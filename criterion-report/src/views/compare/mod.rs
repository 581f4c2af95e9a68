//! A comparison of two sides: for a terminal, for a comment on a pull request, for programs.

mod json;
mod markdown;
mod table;
pub mod text;

use std::io::Write;

use anyhow::Result;

use crate::compare::Comparison;
#[cfg(feature = "schema")]
pub(crate) use json::Document;

/// Formats of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Aligned columns, the worst first
    Table,
    /// Fit for a comment on a pull request
    Markdown,
    /// One document with every case and measure
    Json,
}

#[derive(Debug, Clone, Copy)]
pub struct Look {
    pub all: bool,
    /// Show the cautions of all cases that are shown, not only of those that differ.
    pub details: bool,
    pub colour: bool,
    pub width: Option<usize>,
}

pub fn write(
    comparison: &Comparison,
    format: Format,
    look: Look,
    out: &mut dyn Write,
) -> Result<()> {
    match format {
        Format::Table => out.write_all(table::write(comparison, look).as_bytes())?,
        Format::Markdown => out.write_all(markdown::write(comparison, look.details).as_bytes())?,
        Format::Json => json::write(comparison, out)?,
    }
    Ok(())
}

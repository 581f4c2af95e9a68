//! `export`: the report in formats that programs exchange. One file each.

mod critcmp;
mod document;
mod json;

use std::io::Write;

use anyhow::Result;

use super::{Notes, Target};
use crate::model::Report;

/// The formats; the name of each is what stands behind `export`.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum Format {
    /// Everything, as one document: records, criterion's estimates and samples, what follows
    ///
    /// `"schema": "criterion-torch/report"`; `criterion-report schema report` prints its JSON Schema.
    /// It is read back wherever results are compared. Under `measures` each case has every figure
    /// of the catalogue that stands at the top, with its unit and its interval. Numbers are finite;
    /// infinity and no number are the words `inf`, `-inf`, `nan`.
    Json,
    /// The same with a line for what is common and then one per case
    ///
    /// `"schema": "criterion-torch/report-lines"` in the first line, whose `cases` is the number of
    /// lines that follow.
    Jsonl,
    /// Criterion's benchmark and estimates as `critcmp --export` writes them
    ///
    /// For `critcmp ours.json theirs.json`, which compares means. Cases without a time of their own
    /// are left out, and counted on stderr.
    Critcmp,
}

/// The report in a format.
pub fn write(
    report: &Report,
    format: &Format,
    _target: Target<'_>,
    out: &mut dyn Write,
) -> Result<Notes> {
    match format {
        Format::Json => json::write(report, out),
        Format::Jsonl => json::lines(report, out),
        Format::Critcmp => critcmp::write(report, out),
    }
}

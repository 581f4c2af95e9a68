//! Our own document, in one piece or in lines. Nothing of it is built before it is written.

use std::io::Write;

use anyhow::Result;

use super::document::{Case, Document, Head};
use crate::model::{Entry, Exported, Report};
use crate::write::{Notes, in_order};

/// One JSON object.
pub fn write(report: &Report, out: &mut dyn Write) -> Result<Notes> {
    let head = Head::of(report, Exported::SCHEMA);
    serde_json::to_writer(&mut *out, &Document { head, cases: report })?;
    writeln!(out)?;
    Ok(Notes::new())
}

/// A line for the head, then a line per case.
pub fn lines(report: &Report, out: &mut dyn Write) -> Result<Notes> {
    let entries: Vec<Entry<'_>> = report.concerned().collect();
    let head = Head::of(report, Exported::LINES);
    serde_json::to_writer(&mut *out, &Document { head, cases: entries.len() })?;
    writeln!(out)?;
    let line = |entry: &Entry<'_>| Ok(serde_json::to_string(&Case::of(entry, report))?);
    in_order(&entries, line, |line| Ok(writeln!(out, "{line}")?))?;
    Ok(Notes::new())
}

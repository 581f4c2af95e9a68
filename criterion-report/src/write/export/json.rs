//! Our own document, in one piece or in lines. Nothing of it is built before it is written.

use std::io::Write;

use anyhow::Result;

use super::document::{Case, Document, Head};
use crate::model::{Exported, Report};
use crate::write::Notes;

/// One JSON object.
pub fn write(report: &Report, out: &mut dyn Write) -> Result<Notes> {
    let head = Head::of(report, Exported::SCHEMA);
    serde_json::to_writer(&mut *out, &Document { head, cases: report })?;
    writeln!(out)?;
    Ok(Notes::new())
}

/// A line for the head, then a line per case.
pub fn lines(report: &Report, out: &mut dyn Write) -> Result<Notes> {
    let cases = report.concerned().count();
    let head = Head::of(report, Exported::LINES);
    serde_json::to_writer(&mut *out, &Document { head, cases })?;
    writeln!(out)?;
    for entry in report.concerned() {
        serde_json::to_writer(&mut *out, &Case::of(&entry, report))?;
        writeln!(out)?;
    }
    Ok(Notes::new())
}

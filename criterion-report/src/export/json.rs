//! Our own document, in one piece or in lines. Only a few of its cases are in memory at once.

use std::io::Write;

use anyhow::Result;

use super::document::{Case, Document, Head};
use crate::model::Entry;
use crate::read::{Exported, Report};
use crate::render::in_order::joined;
use crate::render::json_text::{self, Style};
use crate::views::written::Notes;

/// One JSON object.
pub fn write(report: &Report, out: &mut dyn Write) -> Result<Notes> {
    let cases: [Case<'_>; 0] = [];
    let document = Document { head: Head::new(report, Exported::SCHEMA), cases };
    let document = json_text::to_string(&document, Style::Compact)?;
    let before = document.strip_suffix("]}").expect("a document ends with its cases");
    cases_between(report, [before, ",", "]}\n"], "", out)
}

/// A line for the head, then a line per case.
pub fn lines(report: &Report, out: &mut dyn Write) -> Result<Notes> {
    let cases = report.concerned().count();
    let head = Document { head: Head::new(report, Exported::LINES), cases };
    let head = json_text::to_string(&head, Style::Compact)? + "\n";
    cases_between(report, [&head, "", ""], "\n", out)
}

/// The cases, each with `end` behind it.
fn cases_between(
    report: &Report,
    between: [&str; 3],
    end: &str,
    out: &mut dyn Write,
) -> Result<Notes> {
    let entries: Vec<Entry<'_>> = report.concerned().collect();
    let case = |entry: &Entry<'_>, text: &mut Vec<u8>| {
        json_text::add(&Case::new(entry, report), Style::Compact, 0, text)?;
        text.extend(end.bytes());
        Ok(())
    };
    joined(&entries, between, case, out)?;
    Ok(Notes::new())
}

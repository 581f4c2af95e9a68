//! The destination of a view's text, and the messages beside it.

use std::io::Write;
use std::path::Path;

use anyhow::Result;

use crate::read::Report;
use crate::render::units;

/// The destination of a writer's text.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    pub colour_terminal: bool,
    /// Columns of the terminal, if the output is one.
    pub width: Option<usize>,
    /// The file to be written, if not standard output.
    pub file: Option<&'a Path>,
}

/// Remarks on the output that are not part of it.
pub type Notes = Vec<String>;

/// Messages about an output that was written.
#[derive(Debug, Clone, Default)]
pub struct Written {
    pub notes: Notes,
    /// Values that the format cannot represent: the rest is written, and the exit code is 1.
    pub refused: Vec<String>,
}

/// The format can represent nothing of the report, for these reasons; nothing is written.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.refused.join("\n"))]
pub struct AllRefused(pub Written);

/// Writes a text that was made as a whole and holds all its remarks.
pub(crate) fn print(out: &mut dyn Write, text: &str) -> Result<Notes> {
    out.write_all(text.as_bytes())?;
    Ok(Notes::new())
}

/// Says that results of others are not shown.
pub(crate) fn foreign(report: &Report) -> Option<String> {
    let (example, results) =
        (report.foreign.first()?, units::count(report.foreign.len(), "result"));
    Some(format!("{results} in criterion's folder skipped for want of a record, e.g. {example}"))
}

/// Says that rows of earlier runs are among those shown, and what leaves them out.
pub(crate) fn earlier(report: &Report) -> Option<String> {
    let rows = units::count(report.entries().count(), "row");
    match report.earlier {
        0 => None,
        1 => Some(format!("1 of {rows} is of an earlier run than the latest; `--latest` skips it")),
        several => Some(format!(
            "{several} of {rows} are of earlier runs than the latest; `--latest` skips them"
        )),
    }
}

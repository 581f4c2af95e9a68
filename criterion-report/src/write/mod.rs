//! Writers: a report in, a stream out. One file each; the list below is the only other place that a
//! new format touches, and the compiler asks for the match arm.

pub mod aa;
pub mod calibration;
mod choice;
pub mod compare;
pub mod csv;
pub mod dashboard;
pub mod explain;
pub mod export;
mod failures;
mod footer;
mod footnotes;
pub mod fusion;
mod header;
pub mod html;
mod in_order;
pub mod kernels;
mod markdown;
pub mod operators;
pub(crate) mod profile;
pub mod show;
pub mod summary;
mod table;
pub mod training;
mod verdict;
mod view;

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use plan::Mode;
use regex::Regex;

use crate::model::Report;
use crate::units;
use crate::words::more;

use in_order::{in_order, joined};
pub(crate) use table::{
    Align, Cell, Line, NARROWEST, Paint, WIDTH, render, screen, table_width, wrap,
};
pub(crate) use view::is_coloured;

/// Every format that a report can be written in; its name is the subcommand.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum Writer {
    /// Print what the results say, on one screen
    ///
    /// Says per model and shape which recipe pays, per pattern whether to fuse, per operator and
    /// per kernel which implementation is fastest, and what the machine can do.
    #[command(after_long_help = more!(
        "criterion-report summary --format markdown",
        "reports/summary.md"
    ))]
    Summary(summary::Options),

    /// Print a table of cases: time, speed-up, memory and accuracy, with intervals
    ///
    /// A speed-up comes from blocks in which baseline and candidate ran in turn: it is not the
    /// quotient of the two times beside it. A case without a number says why in its place.
    #[command(after_long_help = more!(
        "criterion-report show --filter int8wo --details",
        "reports/show.md"
    ))]
    Show(show::Options),

    /// Write one CSV line per case, torchao's columns first
    ///
    /// Times are medians in milliseconds. An empty cell means that there is no value; unmeasured
    /// cases are lines, too, with their outcome and reason.
    #[command(after_long_help = more!(
        "criterion-report csv --output results.csv",
        "exports/csv.md"
    ))]
    Csv(csv::Options),

    /// Write records of the PyTorch OSS benchmark database (schema v3)
    ///
    /// Each record is one metric of one case. Failed and unsupported cases are records without a
    /// number; skipped cases are left out and counted on stderr. Metrics of several cases that would
    /// become one series are refused: stderr names them, and the exit code is 1.
    #[command(after_long_help = more!(
        "criterion-report dashboard --output results.json",
        "exports/dashboard.md"
    ))]
    Dashboard(dashboard::Options),

    /// Print what fusing gains, per pattern, and whether to fuse on this device
    ///
    /// Reads what `cargo bench --bench fusion` recorded.
    #[command(after_long_help = more!(
        "criterion-report fusion --format json",
        "reports/fusion.md"
    ))]
    Fusion(fusion::Options),

    /// Print how fast each implementation of an operator is, against ATen and the machine
    ///
    /// Reads what `cargo bench --bench operators` recorded, and the machine's bandwidth from
    /// `--bench calibration`.
    #[command(after_long_help = more!(
        "criterion-report operators --by batch",
        "reports/operators.md"
    ))]
    Operators(operators::Options),

    /// Print what the parts of a training step take, what recipes gain, and from which shapes on
    ///
    /// Reads what `cargo bench --bench training` recorded. The maps hold measured speed-ups of
    /// forward and backward pass, and between these what a fitted cost model predicts.
    #[command(after_long_help = more!(
        "criterion-report training --crossover",
        "reports/training.md"
    ))]
    Training(training::Options),

    /// Say why each case takes its time: its limit, the parts of its time, what differs from the baseline
    ///
    /// A statement for each case, with its figure. Operations are those of a profile (`cargo bench --
    /// --profile`), limits those of `cargo bench --bench calibration`; without them it says less.
    #[command(after_long_help = more!(
        "criterion-report explain int8wo --format markdown",
        "reports/explain.md"
    ))]
    Explain(explain::Options),

    /// Write one page with charts and a table of all cases, to be opened in a browser
    ///
    /// The file holds its own script and style, and loads nothing.
    #[command(after_long_help = more!(
        "criterion-report html --filter int8 --output report.html",
        "reports/html.md"
    ))]
    Html(html::Options),

    /// Write the results in a format that other programs read
    ///
    /// Other formats are commands of their own: `csv`; `dashboard` (PyTorch OSS benchmark
    /// database); `fusion --format json`; `operators --format json`; `calibration` (a machine's
    /// profile); `kernels` (a folder of JSON and Markdown); `plan --format json`.
    #[command(after_long_help = more!(
        "criterion-report export json --output results.json",
        "exports/README.md"
    ))]
    #[command(subcommand)]
    Export(export::Format),
}

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
    /// What the format cannot represent: the rest is written, and the exit code is 1.
    pub refused: Vec<String>,
}

/// The format can represent nothing of the report, for these reasons; nothing is written.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.refused.join("\n"))]
pub struct AllRefused(pub Written);

/// The modes that are explained. Calibration is not among them: it measures the limits.
const EXPLAINED: &[Mode] =
    &[Mode::Inference, Mode::Training, Mode::Fusion, Mode::Operators, Mode::Kernels];

impl Writer {
    /// The modes of the cases that it writes, if not of all.
    pub const fn modes(&self) -> Option<&'static [Mode]> {
        match self {
            Self::Summary(_)
            | Self::Show(_)
            | Self::Csv(_)
            | Self::Dashboard(_)
            | Self::Html(_)
            | Self::Export(_) => None,
            Self::Fusion(_) => Some(&[Mode::Fusion]),
            Self::Operators(_) => Some(&[Mode::Operators]),
            Self::Training(_) => Some(&[Mode::Training]),
            Self::Explain(_) => Some(EXPLAINED),
        }
    }

    /// The modes whose cases it derives something from without writing them.
    pub const fn beside(&self) -> &'static [Mode] {
        match self {
            Self::Summary(_)
            | Self::Show(_)
            | Self::Csv(_)
            | Self::Dashboard(_)
            | Self::Fusion(_)
            | Self::Html(_)
            | Self::Export(_) => &[],
            Self::Operators(_) | Self::Training(_) | Self::Explain(_) => &[Mode::Calibration],
        }
    }

    /// Whether the text itself holds the report's warnings and remarks; otherwise they go to
    /// standard error.
    pub const fn says_warnings(&self) -> bool {
        match self {
            Self::Show(_) | Self::Html(_) => true,
            Self::Summary(_)
            | Self::Csv(_)
            | Self::Dashboard(_)
            | Self::Explain(_)
            | Self::Export(_) => false,
            Self::Fusion(options) => options.format.is_for_people(),
            Self::Operators(options) => options.format.is_for_people(),
            Self::Training(options) => options.format.is_for_people(),
        }
    }

    /// The expression on ids that stands before the options, if there is one.
    pub const fn filter(&self) -> Option<&Regex> {
        match self {
            Self::Explain(options) => options.cases.as_ref(),
            _ => None,
        }
    }

    /// The list of columns, if only that was asked for.
    pub fn help(&self) -> Option<String> {
        let columns = match self {
            Self::Show(options) => &options.columns,
            Self::Csv(options) => &options.columns,
            _ => return None,
        };
        choice::fields(columns).is_none().then(choice::help)
    }

    pub fn write(
        &self,
        report: &Report,
        target: Target<'_>,
        out: &mut dyn Write,
    ) -> Result<Written> {
        let mut refused = Vec::new();
        let mut notes = match self {
            Self::Summary(options) => print(out, &summary::write(report, options, target)?)?,
            Self::Show(options) => print(out, &show::write(report, options, target))?,
            Self::Csv(options) => csv::write(report, options, out)?,
            Self::Dashboard(options) => {
                let written = dashboard::write(report, options, target, out)?;
                refused = written.refused;
                written.notes
            }
            Self::Fusion(options) => print(out, &fusion::write(report, options, target)?)?,
            Self::Operators(options) => operators::write(report, options, target, out)?,
            Self::Training(options) => print(out, &training::write(report, options, target)?)?,
            Self::Explain(options) => print(out, &explain::write(report, options, target)?)?,
            Self::Html(options) => html::write(report, options, target, out)?,
            Self::Export(format) => export::write(report, format, out)?,
        };
        if !self.says_warnings() {
            notes.extend(earlier(report));
        }
        Ok(Written { notes, refused })
    }
}

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

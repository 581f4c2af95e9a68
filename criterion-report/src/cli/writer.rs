//! The list of writers: the only other place that a new format touches. The compiler asks for the match arm.

use std::io::Write;

use anyhow::Result;
use plan::Mode;
use regex::Regex;

use crate::export::{self, csv, dashboard};
use crate::html;
use crate::read::Report;
use crate::render::words::more;
use crate::views::explain::text as explain;
use crate::views::fusion::text as fusion;
use crate::views::operators::text as operators;
use crate::views::training::text as training;
use crate::views::written::{Target, Written, earlier, print};
use crate::views::{choice, show, summary};

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

    /// Say why each case takes its time: limit, parts, what differs from the baseline
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
    pub const fn also_reads(&self) -> &'static [Mode] {
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

    /// Whether it writes no more of criterion's data than times.
    pub const fn needs_only_times(&self) -> bool {
        match self {
            Self::Html(_) => false,
            Self::Export(format) => format.needs_only_times(),
            Self::Summary(_)
            | Self::Show(_)
            | Self::Csv(_)
            | Self::Dashboard(_)
            | Self::Fusion(_)
            | Self::Operators(_)
            | Self::Training(_)
            | Self::Explain(_) => true,
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

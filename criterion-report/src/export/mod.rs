//! `export`: the report in formats that programs exchange. One file each.

mod bmf;
mod critcmp;
pub mod csv;
pub mod dashboard;
mod document;
pub mod github_action;
mod json;
mod markdown;
pub mod otava;
pub mod torchao;

use std::io::Write;

use anyhow::Result;

use crate::model::{Entry, Field, Figure, Interval, MEASURES};
use crate::read::Report;
use crate::render::units;
use crate::render::words::more;
use crate::views::written::Notes;

#[cfg(feature = "schema")]
pub(crate) type Whole<'a> = document::Document<'a, &'a Report>;

/// The formats; the name of each is what stands behind `export`.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum Format {
    /// Everything as one document: records, criterion's estimates and samples, derived values
    ///
    /// It is read back wherever results are compared. `criterion-report schema report` prints its
    /// schema.
    #[command(after_long_help = more!(
        "criterion-report export json --output results.json",
        "exports/json.md"
    ))]
    Json,
    /// The same in lines: first the common part, then one line per case
    #[command(after_long_help = more!(
        "criterion-report export jsonl --output results.jsonl",
        "exports/json.md"
    ))]
    Jsonl,
    /// Criterion's benchmarks and estimates as `critcmp --export` writes them
    ///
    /// Cases without a time of their own are left out, and counted on stderr.
    #[command(after_long_help = more!(
        "criterion-report export critcmp --output ours.json",
        "exports/other-tools.md"
    ))]
    Critcmp,
    /// A comment for a pull request: tables in GitHub's Markdown, at most 65 000 characters
    ///
    /// The cases that do not fit are counted at the end.
    #[command(after_long_help = more!(
        "criterion-report export markdown --filter int8wo",
        "exports/other-tools.md"
    ))]
    Markdown,
    /// Bencher Metric Format, for `bencher run --adapter json --file`
    #[command(after_long_help = more!(
        "criterion-report export bmf --output bmf.json",
        "exports/other-tools.md"
    ))]
    Bmf,
    /// github-action-benchmark's `customSmallerIsBetter` or `customBiggerIsBetter`
    ///
    /// A file holds measures of one direction: run it once for each. The action's comments have
    /// room for some hundred values: choose cases with --filter.
    #[command(after_long_help = more!(
        "criterion-report export github-action-benchmark --better smaller --output smaller.json",
        "exports/other-tools.md"
    ))]
    GithubActionBenchmark(github_action::Options),
    /// Add the results to histories for Apache Otava, and write the otava.yaml that reads them
    ///
    /// The folder holds a CSV file per case. A measurement that is there already is not added
    /// again.
    #[command(after_long_help = more!(
        "criterion-report export otava --history history --output otava.yaml",
        "exports/other-tools.md"
    ))]
    Otava(otava::Options),
}

impl Format {
    /// Whether it has no more of criterion's data than times.
    pub const fn needs_only_times(&self) -> bool {
        !matches!(self, Self::Json | Self::Jsonl | Self::Critcmp)
    }
}

/// A value that is a finite number.
struct Finite {
    field: &'static Field,
    value: f64,
    interval: Option<Interval>,
}

/// A case's values of the catalogue that are finite numbers.
fn figures<'a>(entry: &'a Entry<'a>) -> impl Iterator<Item = Finite> + use<'a> {
    MEASURES.into_iter().filter_map(move |field| {
        let Figure { value, interval } = field.figure(entry)?;
        value.is_finite().then_some(Finite { field, value, interval })
    })
}

/// How many cases are left out of formats of numbers alone.
fn without_figures(report: &Report) -> Notes {
    let cases = report.entries().filter(|entry| figures(entry).next().is_none()).count();
    match cases + report.missing.len() {
        0 => Notes::new(),
        cases => vec![format!("left out: {} without a number", units::count(cases, "case"))],
    }
}

pub fn write(report: &Report, format: &Format, out: &mut dyn Write) -> Result<Notes> {
    match format {
        Format::Json => json::write(report, out),
        Format::Jsonl => json::lines(report, out),
        Format::Critcmp => critcmp::write(report, out),
        Format::Markdown => markdown::write(report, out),
        Format::Bmf => bmf::write(report, out),
        Format::GithubActionBenchmark(options) => github_action::write(report, *options, out),
        Format::Otava(options) => otava::write(report, options, out),
    }
}

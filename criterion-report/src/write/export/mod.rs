//! `export`: the report in formats that programs exchange. One file each.

mod bmf;
mod critcmp;
mod document;
pub mod github_action;
mod json;
mod markdown;
pub mod otava;

use std::io::Write;

use anyhow::Result;

use super::{Notes, Target};
use crate::model::{Entry, Field, Figure, Interval, MEASURES, Report};
use crate::units;

pub(crate) type Whole<'a> = document::Document<'a, &'a Report>;

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
    /// A comment for a pull request: tables in GitHub's Markdown, at most 65 000 characters
    ///
    /// What does not fit is counted at the end. Times and speed-ups are given with half the width of
    /// their interval; cautions are footnotes.
    Markdown,
    /// Bencher Metric Format, for `bencher run --adapter json --file`
    ///
    /// A benchmark for each `full_id`; measures are named as under `measures` of `export json`,
    /// `latency` in ns and `throughput` in steps/s as Bencher has them. Bounds are those of the
    /// confidence interval.
    Bmf,
    /// github-action-benchmark's `customSmallerIsBetter` or `customBiggerIsBetter`
    ///
    /// A file has one direction there, so this writes the measures of one: run it twice. `range` is
    /// the distance to the further bound of the confidence interval. The action's own comments have no
    /// room for more than some hundred values: choose them with `--filter`.
    GithubActionBenchmark(github_action::Options),
    /// Add the results to histories for Apache Otava, and write the otava.yaml that reads them
    ///
    /// `--history DIR` holds a CSV file for each case: `time,commit,branch,run` and its measures.
    /// A measurement that is there already is not added again, so it may be run after each bench;
    /// a measure that is new is empty in earlier rows, and in no test until the history begins anew.
    /// Then `otava analyze --config-file otava.yaml ID`, with `--branch` where a history is of several
    /// (`none` is a detached head). Paths in otava.yaml are as given.
    Otava(otava::Options),
}

/// A value that is a finite number.
struct Finite {
    field: &'static Field,
    value: f64,
    interval: Option<Interval>,
}

/// What a case has of the catalogue, as far as JSON and CSV have numbers for it.
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
        Format::Markdown => markdown::write(report, out),
        Format::Bmf => bmf::write(report, out),
        Format::GithubActionBenchmark(options) => github_action::write(report, *options, out),
        Format::Otava(options) => otava::write(report, options, out),
    }
}

//! `explain`: why each case takes its time, as text, as Markdown, or as a document for programs.

mod markdown;
mod plain;
pub(crate) mod words;

use anyhow::{Result, bail};
use clap::ColorChoice;
use regex::Regex;

use crate::read::Report;
use crate::render::json_text;
use crate::render::object::document;
use crate::render::table::screen;
use crate::views::explain::{Explainer, Explanation};
use crate::views::view::Room;
use crate::views::written::Target;

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Only cases whose id matches, as --filter
    #[arg(value_name = "FILTER")]
    pub cases: Option<Regex>,
    /// Text for people, Markdown for a pull request, or JSON
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
    /// When to colour the text
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A few lines and tables per case
    Text,
    /// The same as lists and tables
    Markdown,
    /// Everything, with all operations
    Json,
}

pub fn write(report: &Report, options: &Options, target: Target<'_>) -> Result<String> {
    let explainer = Explainer::new(report);
    let all: Vec<Explanation> =
        report.entries().filter_map(|entry| explainer.explain(&entry)).collect();
    let untimed = report.entries().count() + report.missing.len() - all.len();
    if all.is_empty() && untimed == 0 {
        bail!(
            "the records of `{}` hold no case to explain\n  measure some with `cargo bench --bench \
             inference -- --profile`",
            report.baseline
        );
    }
    Ok(match options.format {
        Format::Json => json_text::document(&Document::of(&report.baseline, &all))?,
        Format::Markdown => markdown::page(&all, untimed),
        Format::Text => {
            let room = Room::new(target, options.color);
            screen(&plain::page(&all, untimed, room), room.colour)
        }
    })
}

document! {
    /// The document of `--format json`.
    pub struct Document<'a> = of(baseline: &'a str, all: &'a [Explanation]) {
        /// `criterion-torch/explain`.
        schema: &'static str = "criterion-torch/explain",
        /// 1; counts incompatible changes.
        version: u32 = 1,
        /// The name of the results that were read.
        baseline: &'a str = baseline,
        /// The cases with a time.
        cases: Vec<Explained<'a>> = all.iter().map(Explained::of).collect(),
    }

    /// A case with its statements as sentences.
    struct Explained<'a> = of(of: &'a Explanation) {
        #[serde(flatten)]
        of: &'a Explanation = of,
        /// The statements in words, in their order.
        sentences: Vec<String> = of.statements.iter().map(ToString::to_string).collect(),
    }
}

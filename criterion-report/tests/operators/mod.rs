//! `operators`: the model, the tables and the array, on results that are made here; and that the
//! defects of the comprehensive operator benchmark are not in them.

mod array;
mod efficiency;
mod fixture;
mod others;
mod tables;

use crate::common::{write, write_on};
use clap::ColorChoice;
use criterion_report::cli::writer::Writer;
use criterion_report::views::OperatorResult;
use criterion_report::views::operators::{text::Axis, text::Format, text::Options};
use criterion_report::views::written::Target;
use fixture::Fixture;
use insta::assert_snapshot;
use plan::Outcome;
use regex::Regex;
use serde_json::Value;

const OPTIONS: Options = Options {
    format: Format::Table,
    by: None,
    upstream_compat: false,
    mean: false,
    color: ColorChoice::Auto,
};
const TABLE: Writer = Writer::Operators(OPTIONS);
const JSON: Writer = Writer::Operators(Options { format: Format::Json, ..OPTIONS });
const COMPAT: Writer =
    Writer::Operators(Options { format: Format::Json, upstream_compat: true, ..OPTIONS });

fn by(axis: Axis) -> Writer {
    Writer::Operators(Options { by: Some(axis), ..OPTIONS })
}

const SMALL: &str = "
benchmark_mode: operators
operator_params:
  operators: [softmax, gelu]
  batch_sizes: [32]
  sequence_lengths: [512]
  tensor_dimensions: [768]
";

const SIZES: &str = "
benchmark_mode: operators
operator_params:
  operators: [gelu]
  implementations: [rust, stream]
  batch_sizes: [16, 32]
  sequence_lengths: [256, 512]
  tensor_dimensions: [64, 512]
";

fn skipped() -> Outcome {
    Outcome::Skipped { reason: "this machine has no CUDA device".to_owned() }
}

/// The one result whose id ends so.
fn result<'a>(results: &'a [OperatorResult<'a>], end: &str) -> &'a OperatorResult<'a> {
    let mut found = results.iter().filter(|result| result.entry.row.full_id().ends_with(end));
    let result = found.next().expect("the fixture has it");
    assert_eq!(found.count(), 0, "{end} is ambiguous");
    result
}

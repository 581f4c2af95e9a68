//! `fusion`: what its model says, its table and its document. `upstream_defect_n` tests that the
//! n-th known defect of branes-ai/graphs is not one here.

mod command;
mod defects;
mod document;
mod function;
mod strategy;
mod table;

use crate::common::{fixture, text_and_notes, write, write_on};
use clap::ColorChoice;
use criterion_report::cli::writer::Writer;
use criterion_report::model::NoSpeedup;
use criterion_report::read::{Location, Report, Selection};
use criterion_report::views::fusion::{text::Format, text::Options};
use criterion_report::views::written::Target;
use criterion_report::views::{Accounting, Advice, FusionResult, PatternAdvice, saved};
use insta::assert_snapshot;
use plan::{Device, FusionVariant, Mode, Pattern};
use regex::Regex;
use serde_json::Value;
use statistics::{Band, Benefit};

const TABLE: Writer = Writer::Fusion(Options { format: Format::Table, color: ColorChoice::Auto });
const JSON: Writer = Writer::Fusion(Options { format: Format::Json, color: ColorChoice::Auto });

/// The fusion cases of the fixture whose id matches.
fn report(filter: &str) -> Report {
    let filter = Regex::new(filter).expect("a valid pattern");
    let modes = Some(&[Mode::Fusion][..]);
    let selection = Selection { modes, filter: Some(&filter), ..Selection::default() };
    let location = Location::at(fixture("fusion").join("criterion"));
    Report::read(&location, "new", selection).expect("a readable fixture")
}

/// The one result whose id ends so.
fn result<'a>(results: &'a [FusionResult<'a>], end: &str) -> &'a FusionResult<'a> {
    let mut found = results.iter().filter(|result| result.entry.row.full_id().ends_with(end));
    let result = found.next().expect("the fixture has it");
    assert_eq!(found.count(), 0, "{end} is ambiguous");
    result
}

fn document(report: &Report) -> Value {
    serde_json::from_str(&write(&JSON, report)).expect("strict JSON")
}

/// The one entry of the document's results whose id ends so.
fn entry<'a>(document: &'a Value, end: &str) -> &'a Value {
    let entries = document["results"].as_array().expect("a list");
    let is_it = |entry: &&Value| entry["full_id"].as_str().expect("an id").ends_with(end);
    entries.iter().find(is_it).expect("the fixture has it")
}

fn advice(report: &Report, pattern: Pattern) -> PatternAdvice {
    let all = PatternAdvice::all(&FusionResult::all(report));
    let on_cpu =
        |advice: &PatternAdvice| advice.pattern == pattern && advice.place.device == Device::Cpu;
    all.into_iter().find(on_cpu).expect("the fixture has it")
}

fn advice_for(advice: &PatternAdvice, variant: FusionVariant) -> Advice {
    let mut variants = advice.variants.iter();
    variants.find(|it| it.variant == variant).expect("the fixture has it").advice
}

const ATTENTION: &str = "full_attention";

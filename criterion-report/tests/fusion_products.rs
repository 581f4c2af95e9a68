//! `fusion` where variants have another library's product: their speed-up is not fusion's.

use crate::common::{report, write, write_on};
use clap::ColorChoice;
use criterion_report::cli::writer::Writer;
use criterion_report::read::Report;
use criterion_report::views::fusion::{text::Format, text::Options};
use criterion_report::views::{Advice, FusionResult, PatternAdvice, VariantAdvice};
use insta::assert_snapshot;
use plan::FusionVariant;
use serde_json::Value;

const TABLE: Writer = Writer::Fusion(Options { format: Format::Table, color: ColorChoice::Never });
const JSON: Writer = Writer::Fusion(Options { format: Format::Json, color: ColorChoice::Never });

fn advice(report: &Report) -> PatternAdvice {
    let all = PatternAdvice::all(&FusionResult::all(report));
    let [linear] = all.try_into().expect("one pattern at one place");
    linear
}

fn advice_for(advice: &PatternAdvice, variant: FusionVariant, same: bool) -> &VariantAdvice {
    let is = |it: &&VariantAdvice| it.variant == variant && it.same_product == Some(same);
    advice.variants.iter().find(is).expect("the fixture has it")
}

#[test]
fn what_another_product_gains_is_no_reason_to_fuse() {
    let report = report("fusion-products");
    let advice = advice(&report);
    // `mkldnn` is 2.25 times as fast, by its product.
    assert_eq!(advice.advice, Advice::Indifferent);
    let best = (advice.other_product_variant, advice.other_product_advice);
    assert_eq!(best, (Some(FusionVariant::Mkldnn), Some(Advice::Faster)));
    assert!(!advice_for(&advice, FusionVariant::Mkldnn, false).votes);
    assert_eq!(advice_for(&advice, FusionVariant::OnednnGraph, false).advice, Advice::Faster);
    // In half precision its product is that of `unfused`: it has a vote.
    let half = advice_for(&advice, FusionVariant::Mkldnn, true);
    assert_eq!((half.votes, half.advice, half.cases), (true, Advice::Indifferent, 1));
    // Nothing is lost by that.
    let cases: usize = advice.variants.iter().map(|variant| variant.cases).sum();
    assert_eq!(cases, FusionResult::all(&report).len());
}

#[test]
fn what_fuses_nothing_is_not_told_to_fuse() {
    let report = report("fusion-products");
    let inplace = advice(&report);
    let inplace = advice_for(&inplace, FusionVariant::Inplace, true);
    assert_eq!(inplace.advice, Advice::Faster);
    let text = write(&TABLE, &report);
    let (_, strategy) = text.split_once("\nstrategy on ").expect("the strategy");
    for (variant, word) in
        [("inplace", "faster"), ("mkldnn-unfused", "faster"), ("fused", "indifferent")]
    {
        let of = |line: &&str| line.split_whitespace().next() == Some(variant);
        let line = strategy.lines().find(of).expect("its line");
        assert_eq!(line.split_whitespace().nth(1), Some(word), "{line}");
    }
}

#[test]
fn over_its_control_every_quotient_of_the_intervals_is_possible() {
    let report = report("fusion-products");
    let advice = advice(&report);
    let over = &advice_for(&advice, FusionVariant::Mkldnn, false).over_control;
    assert_eq!(over.len(), 2, "at both sizes");
    let interval = over[0].interval;
    assert_eq!((interval.low, interval.high), (2.21 / 2.15, 2.29 / 2.1));
    assert!(advice_for(&advice, FusionVariant::OnednnGraph, false).over_control.is_empty());
    assert!(advice_for(&advice, FusionVariant::Mkldnn, true).over_control.is_empty());
    let document: Value = serde_json::from_str(&write(&JSON, &report)).expect("JSON");
    let strategy = &document["strategy"][0];
    assert_eq!(strategy["advice"], "indifferent");
    assert_eq!(strategy["other_product_advice"], "faster");
    assert_eq!(strategy["other_product_variant"], "mkldnn");
    let same = |end: &str| {
        let results = document["results"].as_array().expect("a list");
        let own =
            results.iter().find(|it| it["full_id"].as_str().is_some_and(|id| id.ends_with(end)));
        own.expect("the fixture has it")["same_product"].clone()
    };
    assert_eq!(same("/fused/f32-128x512x512"), Value::Bool(true));
    assert_eq!(same("/mkldnn/f32-128x512x512"), Value::Bool(false));
    assert_eq!(same("/mkldnn/bf16-512x1024x1024"), Value::Bool(true));
}

#[test]
fn a_file_has_all_columns_and_a_terminal_names_those_left_out() {
    let report = report("fusion-products");
    let file = write(&TABLE, &report);
    assert!(file.contains("total") && !file.contains("columns that did not fit"), "{file}");
    let narrow = write_on(Some(64), &TABLE, &report);
    assert!(narrow.contains("columns that did not fit"), "{narrow}");
    let (tables, end) = narrow.split_once("columns that did not fit").expect("it is said");
    for column in ["total", "upstream"] {
        assert!(!tables.contains(column) && end.contains(column), "{column}: {narrow}");
    }
    assert!(!write_on(Some(200), &TABLE, &report).contains("columns that did not fit"));
    assert_snapshot!("fusion-products", file);
}

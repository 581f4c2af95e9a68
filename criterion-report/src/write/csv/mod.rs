//! `csv`: one line per case. The columns of torchao's microbenchmarks come first, in their order
//! and with their conventions (an absent value is an empty cell, booleans are Python's); ours
//! follow. Times are medians in milliseconds. Nothing is rounded.

mod columns;

use crate::model::{Missing, Report};
use columns::{Column, OURS, UPSTREAM};

/// The report as CSV, a heading line first.
pub fn write(report: &Report) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut put = |cells: &mut dyn Iterator<Item = String>| {
        writer.write_record(cells).expect("memory takes every record of equal length");
    };
    put(&mut columns().map(|(name, _)| (*name).to_owned()));
    for entry in report.entries() {
        put(&mut columns().map(|(_, fill)| fill(&entry).unwrap_or_default()));
    }
    for missing in &report.missing {
        put(&mut columns().map(|(name, _)| missing_cell(missing, name)));
    }
    let bytes = writer.into_inner().expect("memory takes every byte");
    String::from_utf8(bytes).expect("every cell is text")
}

fn columns() -> impl Iterator<Item = &'static Column> {
    UPSTREAM.iter().chain(OURS)
}

/// A case that its run did not reach left no record, only its id.
fn missing_cell(missing: &Missing, column: &str) -> String {
    match column {
        "full_id" => missing.full_id.clone(),
        "outcome" => "missing".to_owned(),
        "reason" => missing.reason.clone(),
        _ => String::new(),
    }
}

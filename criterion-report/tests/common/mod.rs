//! What all tests of reports share.
#![allow(dead_code, reason = "each test binary uses its own part of this module")]

use std::path::PathBuf;

use criterion_report::model::{Location, RecordsError, Report, Selection};
use criterion_report::write::{Target, Writer};
use regex::Regex;

/// Fixtures hold what runs left: a `criterion` folder and a `criterion-torch` folder beside it.
/// They are named for what they show, relative to the package so that messages are the same
/// everywhere.
pub fn fixture(name: &str) -> PathBuf {
    let folder = PathBuf::from("tests/fixtures").join(name);
    assert!(folder.is_dir(), "no fixture {name}");
    folder
}

pub fn try_report(name: &str, baseline: &str, filter: &str) -> Result<Report, RecordsError> {
    let filter = Regex::new(filter).expect("a valid pattern");
    read(name, baseline, Selection { filter: Some(&filter), ..Selection::default() })
}

pub fn latest(name: &str) -> Report {
    read(name, "new", Selection { latest: true, ..Selection::default() })
        .expect("a readable fixture")
}

fn read(name: &str, baseline: &str, selection: Selection<'_>) -> Result<Report, RecordsError> {
    Report::read(&Location::at(fixture(name).join("criterion")), baseline, selection)
}

pub fn report(name: &str) -> Report {
    try_report(name, "new", "").expect("a readable fixture")
}

/// The text and, below it, what the writer says on standard error.
pub fn write(writer: &Writer, report: &Report) -> String {
    write_on(None, writer, report)
}

/// The same on a terminal of some width.
pub fn write_on(width: Option<usize>, writer: &Writer, report: &Report) -> String {
    let target = Target { colour_terminal: false, width, file: None };
    match writer.write(report, target) {
        Ok(written) => {
            let notes = written.notes.iter().map(|note| format!("\nnote: {note}"));
            format!("{}{}", written.text, notes.collect::<String>())
        }
        Err(error) => format!("error: {error}"),
    }
}

/// Fixtures that can be read under `new`.
pub const READABLE: &[&str] = &[
    "probes",
    "candidate-alone",
    "compiled",
    "compiled-modes",
    "different-runs",
    "earlier-runs",
    "every-outcome",
    "foreign-benchmark",
    "fusion",
    "fusion-products",
    "host-bound",
    "interleaved",
    "mixed-estimate",
    "no-pair",
    "noisy",
    "older-lines",
    "other-dtype",
    "packed-sibling",
    "page-faults",
    "preallocated",
    "quick-mode",
    "small-kernels",
    "stale-baseline",
    "stale-estimate",
    "torn-last-line",
    "torn-line-then-more",
    "two-configs-one-series",
    "two-siblings",
    "unreached-cases",
    "unreadable-estimate",
];

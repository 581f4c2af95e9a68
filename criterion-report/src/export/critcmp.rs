//! critcmp's exchange format. Its reader wants every estimate but the slope.

use std::io::Write;

use anyhow::Result;
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::model::{Benchmark, CriterionResult, Estimates};
use crate::read::Report;
use crate::render::json_text::{self, Style};
use crate::render::object::document;
use crate::render::units;
use crate::views::written::Notes;

#[derive(serde::Serialize)]
struct Baseline<'a> {
    name: &'a str,
    benchmarks: Benchmarks<'a>,
}

struct Benchmarks<'a>(&'a Report);

document! {
    struct Case<'a> = new(baseline: &'a str, result: &'a CriterionResult) {
        baseline: &'a str = baseline,
        fullname: String = format!("{baseline}/{}", result.benchmark.full_id),
        criterion_benchmark_v1: &'a Benchmark = &result.benchmark,
        criterion_estimates_v1: &'a Estimates = &result.estimates,
    }
}

impl Serialize for Benchmarks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let baseline = self.0.baseline.as_str();
        let mut map = serializer.serialize_map(None)?;
        for result in results(self.0) {
            map.serialize_entry(&result.benchmark.full_id, &Case::new(baseline, result))?;
        }
        map.end()
    }
}

/// The results that its reader takes.
fn results(report: &Report) -> impl Iterator<Item = &CriterionResult> {
    let results = report.entries().filter_map(|entry| entry.row.criterion.as_deref());
    results.filter(|result| result.estimates.median_abs_dev.is_some())
}

pub fn write(report: &Report, out: &mut dyn Write) -> Result<Notes> {
    let baseline = Baseline { name: &report.baseline, benchmarks: Benchmarks(report) };
    json_text::write(&baseline, Style::Compact, out)?;
    writeln!(out)?;
    let left_out = report.entries().count() - results(report).count() + report.missing.len();
    let note = format!("left out: {} without an estimate", units::count(left_out, "case"));
    Ok(if left_out > 0 { vec![note] } else { Notes::new() })
}

//! torchao's layout as it was last: one line per recipe, shape and compile mode, with the eager and the
//! compiled times of the model and of its baseline.
//!
//! There all four times are of moments of their own, their quotients are the speed-ups, and both
//! are rounded. Here the times are, too; the speed-ups come from pairs.

use std::collections::{BTreeMap, HashSet};
use std::io::Write;

use anyhow::Result;
use plan::Outcome;

use super::columns::{IDENTITY, PROFILE, SETTINGS, cell};
use super::table;
use crate::model::{Column, Comparison, Entry, NoSpeedup, Row};
use crate::read::Report;
use crate::render::units;
use crate::views::written::Notes;

/// A line: a case, and the others of its recipe and its baseline, as far as there are any.
struct Line<'a> {
    /// The compiled case, or the eager one where nothing is compiled.
    entry: Entry<'a>,
    eager: Option<Entry<'a>>,
    compiled: Option<&'a Row>,
    /// The unquantized model, run eagerly.
    baseline: Option<&'a Row>,
    /// The unquantized model, compiled in the same mode.
    compiled_baseline: Option<&'a Row>,
}

/// A name of torchao's, and what fills it.
type Cell = (&'static str, fn(&Line<'_>) -> Option<String>);

const TIMES: &[Cell] = &[
    ("baseline_model_eager_inference_time_in_ms", |it| median(it.baseline?)),
    ("quantized_model_eager_inference_time_in_ms", |it| median(it.eager?.row)),
    ("baseline_model_compiled_inference_time_in_ms", |it| median(it.compiled_baseline?)),
    ("quantized_model_compiled_inference_time_in_ms", |it| median(it.compiled?)),
    ("eager speedup on baseline", |it| ratio(it.eager?.comparison)),
    ("compile speedup on baseline", |it| it.compiled.and_then(|_| ratio(it.entry.quantization))),
    ("eager vs compile speedup", |it| ratio(it.entry.compilation)),
];

pub fn write(report: &Report, raw: bool, out: &mut dyn Write) -> Result<Notes> {
    let mut left_out: BTreeMap<&str, usize> = BTreeMap::new();
    let mut fit = Vec::new();
    for entry in report.entries() {
        match unfit(&entry) {
            Some(reason) => *left_out.entry(reason).or_insert(0) += 1,
            None => fit.push(entry),
        }
    }
    let twins: HashSet<usize> =
        fit.iter().filter_map(|entry| entry.compilation.and_then(|it| it.baseline)).collect();
    let twins: HashSet<&str> = twins.iter().map(|&place| report.rows()[place].full_id()).collect();
    // Its compiled siblings have the eager case in their lines.
    let lines = fit.iter().filter(|entry| !twins.contains(entry.row.full_id()));
    let lines: Vec<Line<'_>> = lines.map(|entry| Line::from_entry(*entry, report)).collect();
    let heading = settings().map(|column| column.name).chain(TIMES.iter().map(|(name, _)| *name));
    let heading = heading.chain(PROFILE.iter().map(|column| column.name));
    let mut notes: Vec<String> = left_out
        .into_iter()
        .map(|(reason, cases)| format!("left out: {}: {reason}", units::count(cases, "case")))
        .collect();
    notes.extend(fit.iter().filter_map(|entry| unmeasured(entry.row)));
    notes.extend(lines.iter().flat_map(Line::missing));
    notes.extend(report.missing.iter().map(|case| format!("{}: {}", case.full_id, case.reason)));
    table(out, raw, heading.collect(), &lines, Line::cells)?;
    Ok(notes)
}

fn settings() -> impl Iterator<Item = &'static Column> {
    [IDENTITY, SETTINGS].into_iter().flatten()
}

/// Why the layout has no place for a case.
fn unfit(entry: &Entry<'_>) -> Option<&'static str> {
    match entry.row.variant() {
        None => Some("not a model with a recipe, the only cases that the layout names"),
        Some(variant) if variant.packed => Some(
            "libtorch's packed op, which its names cannot distinguish from upstream's own \
                  maths",
        ),
        Some(variant) if variant.preallocated => {
            Some("a preallocated output, which its names cannot distinguish from a fresh one")
        }
        Some(variant) if variant.dtype.is_some() => {
            Some("another dtype than its siblings', which its names cannot distinguish")
        }
        Some(variant) if variant.graph => {
            Some("a CUDA graph, which its names cannot distinguish from the eager step")
        }
        Some(_) if entry.row.pass().is_some() => {
            Some("a part of a training step; `--layout training` has those")
        }
        Some(variant) if variant.emulated => {
            Some("emulated, which its names cannot distinguish from the recipe's own products")
        }
        Some(_) => None,
    }
}

fn unmeasured(row: &Row) -> Option<String> {
    let status = row.record.outcome.status();
    match (&row.record.outcome, row.reason()) {
        (Outcome::Measured, reason) => {
            reason.map(|why| format!("{}: without its time: {why}", row.full_id()))
        }
        (_, Some(reason)) => Some(format!("{}: {status}: {reason}", row.full_id())),
        (_, None) => Some(format!("{}: {status}", row.full_id())),
    }
}

fn ratio(compared: Option<&Comparison>) -> Option<String> {
    Some(compared?.gain.as_ref().ok()?.ratio.to_string())
}

fn median(row: &Row) -> Option<String> {
    Some((row.time.as_ref().ok()?.median_ns / 1e6).to_string())
}

impl<'a> Line<'a> {
    fn from_entry(entry: Entry<'a>, report: &'a Report) -> Self {
        let twin = entry.compilation.map(|it| it.baseline.map(|place| report.entry(place)));
        let compiled = twin.is_some();
        Self {
            entry,
            eager: twin.unwrap_or(Some(entry)),
            compiled: compiled.then_some(entry.row),
            baseline: if entry.row.is_baseline() { Some(entry.row) } else { entry.baseline },
            compiled_baseline: entry.unquantized.filter(|_| compiled),
        }
    }

    fn cells(&self) -> Vec<String> {
        let own = |column: &Column| cell(column.field, column.part, &self.entry);
        let times = TIMES.iter().map(|(_, fill)| fill(self).unwrap_or_default());
        settings().map(own).chain(times).chain(PROFILE.iter().map(own)).collect()
    }

    /// Why it lacks a speed-up although its case is measured.
    fn missing(&self) -> Vec<String> {
        let compared = [self.entry.compilation, self.entry.quantization].into_iter().flatten();
        let reasons = compared.filter_map(|it| it.gain.as_ref().err());
        let reasons = reasons.filter(|why| **why != NoSpeedup::NotMeasured);
        reasons.map(|why| format!("{}: no speed-up: {why}", self.entry.row.full_id())).collect()
    }
}

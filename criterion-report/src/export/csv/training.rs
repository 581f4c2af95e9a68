//! torchao's layout of training: one line per recipe and shape, with forward and backward pass, both together,
//! and the same of the baseline.
//!
//! There a third of the time of both is called forward and the rest backward. Here each is measured by
//! itself, the speed-up comes from pairs, and operations are those of three products on either side.

use std::io::Write;

use anyhow::Result;
use plan::{Dtype, Pass, Recipe, TrainingSettings};

use super::columns::{COMPILED, IDENTITY, PROFILE, SETTINGS, cell, flag};
use super::table;
use crate::model::{Column, Row};
use crate::read::Report;
use crate::render::units;
use crate::views::training::{TrainingResult, scaling_repr, upstream_peak};
use crate::views::written::Notes;

/// A value, or why there is none.
type Value = Result<String, String>;
/// A name of torchao's, and what fills it.
type Cell = (&'static str, fn(&TrainingResult<'_>) -> Value);

const KEYS: &[Cell] = &[
    ("scaling_type_input", |it| Ok(settings(it)?.scaling_type_input.to_string())),
    ("scaling_type_weight", |it| Ok(settings(it)?.scaling_type_weight.to_string())),
    ("scaling_type_grad_output", |it| Ok(settings(it)?.scaling_type_grad_output.to_string())),
    ("scaling_granularity", |it| Ok(settings(it)?.scaling_granularity.to_string())),
    ("use_fast_accum", |it| Ok(flag(settings(it)?.use_fast_accum).to_owned())),
    ("repeat_n", |it| Ok(settings(it)?.repeat_n.to_string())),
    ("model_inference_time_in_ms", |_| Err("training measures no inference".to_owned())),
];

const TIMES: &[Cell] = &[
    ("forward_time_ms", |it| time(part(it, Pass::Forward)?)),
    ("backward_time_ms", |it| time(part(it, Pass::Backward)?)),
    ("total_time_ms", |it| time(part(it, Pass::ForwardBackward)?)),
    ("reference_forward_time_ms", |it| time(reference(it, Pass::Forward)?)),
    ("reference_backward_time_ms", |it| time(reference(it, Pass::Backward)?)),
    ("reference_total_time_ms", |it| time(reference(it, Pass::ForwardBackward)?)),
    ("speedup", speedup),
    ("scaling_repr", |it| {
        let repr = scaling_repr(&it.key.work, it.key.dtype, settings(it).ok());
        repr.ok_or_else(|| "not a recipe of float8".to_owned())
    }),
    ("ref_tops_sec", |it| text(rate(reference(it, Pass::ForwardBackward)?))),
    ("ref_pct_top_peak", |it| {
        text(of_peak(rate(reference(it, Pass::ForwardBackward)?), it.key.dtype))
    }),
    ("tops_sec", |it| text(rate(part(it, Pass::ForwardBackward)?))),
    ("pct_top_peak", |it| {
        let dtype = if is_float8(it) { Dtype::Float8E4M3Fn } else { it.key.dtype };
        text(of_peak(rate(part(it, Pass::ForwardBackward)?), dtype))
    }),
];

/// Behind torchao's columns: why cells are empty.
const ABSENT: &str = "absent";

pub fn write(report: &Report, raw: bool, out: &mut dyn Write) -> Result<Notes> {
    let results = TrainingResult::all(report);
    let names = own_columns().map(|column| column.name);
    let names =
        names.chain(KEYS.iter().map(|(name, _)| *name)).chain(PROFILE.iter().map(|it| it.name));
    let names = names.chain(TIMES.iter().map(|(name, _)| *name)).chain([ABSENT]);
    table(out, raw, names.collect(), &results, cells)?;
    let others = report.entries().filter(|entry| entry.row.pass().is_none()).count();
    let mut notes = Notes::new();
    notes.extend((others > 0).then(|| {
        format!("left out: {}: no part of a training step", units::count(others, "case"))
    }));
    notes.extend(report.missing.iter().map(|case| format!("{}: {}", case.full_id, case.reason)));
    Ok(notes)
}

fn own_columns() -> impl Iterator<Item = &'static Column> {
    [IDENTITY, std::slice::from_ref(&COMPILED), SETTINGS].into_iter().flatten()
}

fn cells(of: &TrainingResult<'_>) -> Vec<String> {
    let mut absent = Vec::new();
    let mut text = |name: &str, value: Value| {
        value.unwrap_or_else(|why| {
            absent.push(format!("{name}: {}", why.replace(';', ",")));
            String::new()
        })
    };
    let keys: Vec<String> = KEYS.iter().map(|(name, fill)| text(name, fill(of))).collect();
    let times: Vec<String> = TIMES.iter().map(|(name, fill)| text(name, fill(of))).collect();
    let profile: Vec<String> = PROFILE.iter().map(|it| text(it.name, profiled(of, it))).collect();
    let own = own_columns().map(|column| cell(column.field, column.part, of.first()));
    own.chain(keys).chain(profile).chain(times).chain([absent.join(";")]).collect()
}

/// A value of the profile of the whole step, as torchao takes it; if the whole step was not profiled, of the first part
/// that was.
fn profiled(of: &TrainingResult<'_>, column: &Column) -> Value {
    let whole_first = || of.part(Pass::ForwardBackward).into_iter().chain(of.parts());
    let profiled = whole_first().find(|entry| entry.row.record.profile.is_some());
    let entry = profiled.or(of.part(Pass::ForwardBackward)).unwrap_or(of.first());
    if column.field.value(entry).is_some() {
        return Ok(cell(column.field, column.part, entry));
    }
    Err(column.field.absent(entry).unwrap_or_else(|| "not asked for".to_owned()))
}

fn settings<'r>(of: &'r TrainingResult<'_>) -> Result<&'r TrainingSettings, String> {
    let settings = of.parts().find_map(|it| it.row.record.case.settings.training.as_ref());
    settings.ok_or_else(|| "its record has no training settings".to_owned())
}

/// The row of a part.
fn part<'r>(of: &'r TrainingResult<'_>, pass: Pass) -> Result<&'r Row, String> {
    of.part(pass).map(|entry| entry.row).ok_or_else(|| format!("`{pass}` was not selected"))
}

/// The baseline's row of a part; the baseline is its own.
fn reference<'r>(of: &'r TrainingResult<'_>, pass: Pass) -> Result<&'r Row, String> {
    let entry = of.part(pass).ok_or_else(|| format!("`{pass}` was not selected"))?;
    let row = if entry.row.is_baseline() { Some(entry.row) } else { entry.baseline };
    row.ok_or_else(|| format!("`{pass}` of the baseline has no record"))
}

fn time(row: &Row) -> Value {
    let why = || row.reason().unwrap_or_else(|| row.record.outcome.status().to_owned());
    row.time.as_ref().map(|time| (time.median_ns / 1e6).to_string()).map_err(|_| why())
}

fn speedup(of: &TrainingResult<'_>) -> Value {
    let row = part(of, Pass::ForwardBackward)?;
    match of.part(Pass::ForwardBackward).and_then(|entry| entry.comparison) {
        None => Err(format!("it is the baseline of {}", row.record.case.id.group)),
        Some(compared) => match &compared.speedup {
            Ok(speedup) => Ok(speedup.ratio.to_string()),
            Err(why) => Err(why.to_string()),
        },
    }
}

/// Operations per second, as upstream stores them.
fn rate(row: &Row) -> Result<f64, String> {
    if row.is_emulated() {
        return Err("emulated: its time is not the recipe's".to_owned());
    }
    time(row)?;
    let rate = row.gflop_per_s().map(|rate| rate * 1e9);
    rate.ok_or_else(|| "no floating-point operations are counted of it".to_owned())
}

/// The share of upstream's constant.
fn of_peak(rate: Result<f64, String>, dtype: Dtype) -> Result<f64, String> {
    let peak = upstream_peak(dtype).ok_or_else(|| format!("upstream has no peak of {dtype}"))?;
    Ok(rate? / peak)
}

fn text(value: Result<f64, String>) -> Value {
    value.map(|value| value.to_string())
}

fn is_float8(of: &TrainingResult<'_>) -> bool {
    let recipe = of.key.work.variant.recipe;
    matches!(recipe, Recipe::Float8 { .. } | Recipe::Float8dqTensor | Recipe::Float8dqRow)
}

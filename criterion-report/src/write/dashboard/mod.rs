//! `dashboard`: records of the PyTorch OSS benchmark database, schema v3.

mod check;
mod metrics;
mod record;
mod upstream;
mod v3;

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use plan::{Device, Outcome};
use serde::Serialize;

use super::{Notes, Target, python_json};
use crate::model::database::has_upload_name;
use crate::model::{Entry, Report, Row};
use crate::units;
pub use check::DashboardError;
use check::check;
use record::DbRecord;

/// What `dashboard` can be told.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Options {
    /// Write exactly the fields, names and layout that torchao's CI wrote last
    ///
    /// Four metrics per measured candidate. It has no place for failures, intervals, versions,
    /// preallocated outputs, packed variants or dtypes other than bfloat16: what it leaves out is
    /// counted on stderr. Its empty `runners` and `dependencies` suppress what the uploader would
    /// fill in, so prefer the default for uploading.
    #[arg(long, conflicts_with_all = ["seed_format", "jsonl"])]
    pub torchao_compat: bool,
    /// Write the one record per result of torchao's tutorial, `speedup(wrt bf16)`
    #[arg(long, conflicts_with = "jsonl")]
    pub seed_format: bool,
    /// Write one record per line instead of one list; the file is still to be named *.json
    #[arg(long)]
    pub jsonl: bool,
}

/// `benchmark.name`: what dashboards filter on.
const BENCHMARK: &str = "micro-benchmark api";
/// `model.type`.
const LAYER: &str = "micro-benchmark custom layer";
/// `model.origins`: whose models these are.
const ORIGIN: &str = "torchao";

/// The report as a dashboard file.
pub fn write(
    report: &Report,
    options: &Options,
    target: Target<'_>,
    out: &mut dyn Write,
) -> Result<Notes> {
    if let Some(file) = target.file
        && !has_upload_name(file)
    {
        return Err(DashboardError::NotJson { file: file.display().to_string() }.into());
    }
    let mut notes = Vec::new();
    let mut records = Vec::new();
    let mut left_out: BTreeMap<String, usize> = BTreeMap::new();
    for entry in report.entries() {
        match convert(&entry, options) {
            Ok(metrics) => {
                if let (Outcome::Measured, Err(no_time)) =
                    (&entry.row.record.outcome, &entry.row.time)
                {
                    notes.push(format!("{}: without its times: {no_time}", entry.row.full_id()));
                }
                let id = entry.row.full_id();
                records.extend(metrics.into_iter().map(|metric| (id.to_owned(), metric)));
            }
            Err(Some(reason)) => *left_out.entry(reason).or_insert(0) += 1,
            Err(None) => {}
        }
    }
    for (reason, cases) in left_out {
        notes.push(format!("left out: {}: {reason}", units::count(cases, "case")));
    }
    notes.extend(report.missing.iter().map(|case| format!("{}: {}", case.full_id, case.reason)));
    if records.is_empty() {
        return Err(DashboardError::Empty(notes).into());
    }
    match check(&records) {
        // Upstream's names do not tell models, dtypes and compilation apart; that is their form.
        Err(same @ DashboardError::SameSeries { .. })
            if options.torchao_compat || options.seed_format =>
        {
            notes.push(format!("not for uploading as it is: {same}"));
        }
        checked => checked?,
    }
    let records: Vec<DbRecord> = records.into_iter().map(|(_, record)| record).collect();
    out.write_all(text(&records, options).as_bytes())?;
    Ok(notes)
}

/// The records of a case, or why it has none; upstream's forms have no baselines, silently.
fn convert(entry: &Entry<'_>, options: &Options) -> Result<Vec<DbRecord>, Option<String>> {
    if options.torchao_compat || options.seed_format {
        if entry.quantization.is_none() && entry.row.is_unquantized() {
            return Err(None);
        }
        if let Some(reason) = upstream::unfit(entry, options.torchao_compat) {
            return Err(Some(reason.to_owned()));
        }
        let convert = if options.seed_format { upstream::seed } else { upstream::torchao };
        return Ok(convert(entry));
    }
    let records = v3::records(entry);
    let outcome = &entry.row.record.outcome;
    if records.is_empty() {
        Err(Some(outcome.reason().map_or_else(
            || format!("{} without a number", outcome.status()),
            |reason| format!("{}: {reason}", outcome.status()),
        )))
    } else {
        Ok(records)
    }
}

fn text(records: &[DbRecord], options: &Options) -> String {
    let cannot_fail = "strings, numbers and lists of them always serialise";
    if options.torchao_compat || options.seed_format {
        // Upstream's files end without a newline.
        return python_json::to_string(&records).expect(cannot_fail);
    }
    let mut text = if options.jsonl { lines(records) } else { python_json::to_string(&records) }
        .expect(cannot_fail);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn lines<T: Serialize>(records: &[T]) -> serde_json::Result<String> {
    let lines: serde_json::Result<Vec<String>> =
        records.iter().map(serde_json::to_string).collect();
    Ok(lines?.join("\n"))
}

/// The hardware that a case ran on, as upstream names it.
fn arch(row: &Row) -> String {
    let environment = &row.record.environment;
    match row.record.case.device {
        Device::Cpu => environment.host.cpu_model.clone(),
        Device::Cuda => environment.torch.cuda_device.clone().unwrap_or_else(unknown),
        Device::Xpu | Device::Mps => unknown(),
    }
}

fn unknown() -> String {
    "unknown".to_owned()
}

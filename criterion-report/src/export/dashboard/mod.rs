//! `dashboard`: records of the PyTorch OSS benchmark database, schema v3.

mod check;
mod metrics;
mod record;
mod upstream;
mod v3;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;

use anyhow::{Result, bail};
use plan::{Device, Outcome};

use crate::model::{Entry, Row};
use crate::read::Report;
use crate::read::database::has_upload_name;
use crate::render::in_order::{in_order, joined};
use crate::render::units;
use crate::views::written::{AllRefused, Notes, Target, Written};
use check::Check;
use record::{DbCase, Metric, RecordLayout};

#[derive(Debug, Clone, Default, clap::Args)]
pub struct Options {
    /// Write exactly the fields that torchao's CI wrote last
    ///
    /// Four metrics per measured candidate; what this format has no place for is left out and
    /// counted on stderr. For uploading prefer the default.
    #[arg(long, conflicts_with_all = ["seed_format", "jsonl"])]
    pub torchao_compat: bool,
    /// Write the one record per result of torchao's tutorial
    #[arg(long, conflicts_with = "jsonl")]
    pub seed_format: bool,
    /// Write one record per line instead of one list
    #[arg(long)]
    pub jsonl: bool,
}

/// `benchmark.name`: what dashboards filter on.
const BENCHMARK: &str = "micro-benchmark api";
/// `model.type`.
const LAYER: &str = "micro-benchmark custom layer";
/// `model.origins`: whose models these are.
const ORIGIN: &str = "torchao";

pub fn write(
    report: &Report,
    options: &Options,
    target: Target<'_>,
    out: &mut dyn Write,
) -> Result<Written> {
    if let Some(file) = target.file
        && !has_upload_name(file)
    {
        bail!(
            "{}: the uploader takes only files named *.json; write to a name that ends in .json",
            file.display()
        );
    }
    let (notes, refused) = checked(report, options)?;
    put(report, options, &refused, out)?;
    Ok(Written { notes, refused: refused.texts })
}

/// The metrics that cannot be written, because several cases would become one series.
#[derive(Default)]
struct Refused<'a> {
    /// The metrics by the case's id.
    metrics: HashMap<&'a str, HashSet<String>>,
    texts: Vec<String>,
}

/// Looks at all that would be written, before anything is.
fn checked<'a>(report: &'a Report, options: &Options) -> Result<(Notes, Refused<'a>)> {
    let mut notes = Vec::new();
    let mut left_out: BTreeMap<String, usize> = BTreeMap::new();
    let mut check = Check::default();
    let mut empty = true;
    let entries: Vec<Entry<'a>> = report.entries().collect();
    let series = |entry: &Entry<'a>| {
        let series = convert(entry, options)
            .map(|case| check::values(entry.row.full_id(), &case).map(|()| check::series(&case)));
        Ok((*entry, series))
    };
    in_order(&entries, series, |(entry, series)| {
        match series {
            Ok(series) => {
                empty = false;
                let row = entry.row;
                if let (Outcome::Measured, Err(no_time)) = (&row.record.outcome, &row.time) {
                    notes.push(format!("{}: without its times: {no_time}", row.full_id()));
                }
                check.add(series?, entry);
            }
            Err(Some(reason)) => *left_out.entry(reason).or_insert(0) += 1,
            Err(None) => {}
        }
        Ok(())
    })?;
    for (reason, cases) in left_out {
        notes.push(format!("left out: {}: {reason}", units::count(cases, "case")));
    }
    notes.extend(report.missing.iter().map(|case| format!("{}: {}", case.full_id, case.reason)));
    if empty {
        let notes: String = notes.iter().map(|note| format!("\n  {note}")).collect();
        bail!("no case has a result for the dashboard{notes}");
    }
    let shared = check.shared(|entry| {
        let metrics = convert(entry, options).into_iter().flat_map(|case| case.metrics);
        metrics.map(|metric| metric.name.to_string()).collect()
    });
    if options.is_upstreams() {
        // Upstream's names do not distinguish models, dtypes and compilation. Its format requires those names, so this
        // is only a note.
        let first = shared.first();
        notes.extend(first.map(|it| format!("not for uploading as it is: {}", it.text())));
        return Ok((notes, Refused::default()));
    }
    let mut refused = Refused::default();
    for shared in &shared {
        refused.texts.push(shared.text());
        for (id, metrics) in shared.refused() {
            refused.metrics.entry(id).or_default().extend(metrics.iter().cloned());
        }
    }
    let is_left = |entry: &Entry<'_>| {
        let left = |metric: &Metric<'_>| !refused.has(entry.row.full_id(), metric);
        convert(entry, options).is_ok_and(|case| case.metrics.iter().any(left))
    };
    if !shared.is_empty() && !entries.iter().any(is_left) {
        return Err(AllRefused(Written { notes, refused: refused.texts }).into());
    }
    Ok((notes, refused))
}

impl Refused<'_> {
    fn has(&self, id: &str, metric: &Metric<'_>) -> bool {
        self.metrics.get(id).is_some_and(|metrics| metrics.contains(&metric.name.to_string()))
    }
}

impl Options {
    const fn is_upstreams(&self) -> bool {
        self.torchao_compat || self.seed_format
    }
}

/// The records of a case, or why it has none; upstream's forms have no baselines, silently.
fn convert<'a>(entry: &Entry<'a>, options: &Options) -> Result<DbCase<'a>, Option<String>> {
    let outcome = &entry.row.record.outcome;
    let without = || {
        Some(outcome.reason().map_or_else(
            || format!("{} without a number", outcome.status()),
            |reason| format!("{}: {reason}", outcome.status()),
        ))
    };
    if options.is_upstreams() {
        if entry.quantization.is_none() && entry.row.is_unquantized() {
            return Err(None);
        }
        if let Some(reason) = upstream::unfit(entry, options.torchao_compat) {
            return Err(Some(reason.to_owned()));
        }
    }
    let convert = match options {
        Options { seed_format: true, .. } => upstream::seed,
        Options { torchao_compat: true, .. } => upstream::torchao,
        _ => v3::records,
    };
    convert(entry).ok_or_else(without)
}

/// Writes the records of all cases, but for the refused ones.
fn put(
    report: &Report,
    options: &Options,
    refused: &Refused<'_>,
    out: &mut dyn Write,
) -> Result<()> {
    let form = if options.jsonl { RecordLayout::Lines } else { RecordLayout::List };
    let [before, between, behind] = form.punctuation();
    // Upstream's files end without a newline.
    let end = if options.is_upstreams() { "" } else { "\n" };
    let entries: Vec<Entry<'_>> = report.entries().collect();
    let text = |entry: &Entry<'_>, text: &mut Vec<u8>| {
        let Ok(mut case) = convert(entry, options) else { return Ok(()) };
        case.metrics.retain(|metric| !refused.has(entry.row.full_id(), metric));
        if !options.is_upstreams() {
            v3::complete(&mut case, entry);
        }
        Ok(case.write(form, text)?)
    };
    joined(&entries, [before, between, &format!("{behind}{end}")], text, out)
}

/// The hardware that a case ran on, as upstream names it.
fn arch(row: &Row) -> &str {
    let environment = &row.record.environment;
    match row.record.case.device {
        Device::Cpu => &environment.host.cpu_model,
        Device::Cuda => environment.torch.cuda_device.as_deref().unwrap_or(UNKNOWN),
        Device::Rocm | Device::Xpu | Device::Mps => UNKNOWN,
    }
}

const UNKNOWN: &str = "unknown";

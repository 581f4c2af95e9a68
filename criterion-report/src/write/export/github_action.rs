//! github-action-benchmark's custom format: a list of values of which either the smaller or the
//! bigger ones are better, because its alerts know one direction for a file.

use std::io::Write;

use anyhow::Result;
use serde::ser::{Serialize, Serializer};

use super::{Finite, figures};
use crate::json_text::{self, Style};
use crate::model::{Better, Entry, Interval, Report};
use crate::write::Notes;

#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Options {
    /// Write the measures of which these values are better
    #[arg(long, value_enum)]
    pub better: Better,
}

struct List<'a>(&'a Report, Better);

#[derive(serde::Serialize)]
struct Bench {
    name: String,
    unit: &'static str,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    extra: String,
}

impl Serialize for List<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(report, better) = *self;
        serializer.collect_seq(report.entries().flat_map(move |entry| {
            let figures = figures(&entry).filter(move |it| it.field.better == Some(better));
            figures.map(move |figure| Bench::of(&entry, figure)).collect::<Vec<_>>()
        }))
    }
}

impl Bench {
    fn of(entry: &Entry<'_>, Finite { field, value, interval }: Finite) -> Self {
        let record = &entry.row.record;
        let commit = record.environment.git_revision.as_deref();
        let mut extra = vec![field.description.to_owned()];
        extra.extend(interval.map(|Interval { low, high }| format!("[{low}, {high}]")));
        extra.extend(commit.map(|commit| format!("commit {commit}")));
        extra.push(record.environment.host.cpu_model.clone());
        extra.extend(entry.cautions().iter().map(ToString::to_string));
        Self {
            name: format!("{}: {}", record.full_id, field.name),
            unit: field.unit.symbol,
            value,
            // The further bound: the interval of a bootstrap is not symmetrical.
            range: interval.map(|it| format!("± {}", (value - it.low).max(it.high - value))),
            extra: extra.join("\n"),
        }
    }
}

/// The values of one direction.
pub fn write(report: &Report, options: Options, out: &mut dyn Write) -> Result<Notes> {
    json_text::write(&List(report, options.better), Style::Pretty, out)?;
    writeln!(out)?;
    let mut notes = super::without_figures(report);
    let has_values = |entry| figures(&entry).any(|it| it.field.better == Some(options.better));
    if !report.entries().any(has_values) {
        notes.push("it is empty, and github-action-benchmark refuses an empty list".to_owned());
    }
    Ok(notes)
}

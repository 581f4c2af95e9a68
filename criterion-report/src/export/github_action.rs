//! github-action-benchmark's custom format: a list of values of which either the smaller or the
//! bigger ones are better, because its alerts know one direction for a file.

use std::io::Write;

use anyhow::Result;
use serde::ser::{Serialize, Serializer};

use super::{Finite, figures};
use crate::model::{Better, Entry, Interval};
use crate::read::Report;
use crate::render::json_text::{self, Style};
use crate::render::object::document;
use crate::render::units;
use crate::views::written::Notes;

#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Options {
    /// Write the measures of which these values are better
    #[arg(long, value_enum)]
    pub better: Better,
}

struct List<'a>(&'a Report, Better);

document! {
    struct Bench = new(entry: &Entry<'_>, figure: Finite) [
        Finite { field, value, interval } = figure;
        record = &entry.row.record;
    ] {
        name: String = format!("{}: {}", record.full_id, field.name),
        unit: &'static str = field.unit.symbol,
        value: f64 = value,
        // The further bound: the interval of a bootstrap is not symmetrical.
        #[serde(skip_serializing_if = "Option::is_none")]
        range: Option<String> =
            interval.map(|it| format!("± {}", (value - it.low).max(it.high - value))),
        extra: String = {
            let commit = record.environment.git_revision.as_deref();
            let mut extra = vec![field.description.to_owned()];
            extra.extend(interval.map(|Interval { low, high }| format!("[{low}, {high}]")));
            extra.extend(commit.map(|commit| format!("commit {commit}")));
            extra.push(record.environment.host.cpu_model.clone());
            extra.extend(entry.cautions().iter().map(ToString::to_string));
            extra.join("\n")
        },
    }
}

impl Serialize for List<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(report, better) = *self;
        serializer.collect_seq(report.entries().flat_map(move |entry| {
            let figures = meant(&entry, better).filter(|it| it.value != 0.0);
            figures.map(move |figure| Bench::new(&entry, figure)).collect::<Vec<_>>()
        }))
    }
}

/// The values of one direction.
fn meant<'e>(entry: &'e Entry<'_>, better: Better) -> impl Iterator<Item = Finite> + 'e {
    figures(entry).filter(move |it| it.field.better == Some(better))
}

/// The values of one direction but for zeros, to which the action's ratio of any other value is infinite.
pub fn write(report: &Report, options: Options, out: &mut dyn Write) -> Result<Notes> {
    json_text::write(&List(report, options.better), Style::Pretty, out)?;
    writeln!(out)?;
    let mut notes = super::without_figures(report);
    let count = |is: fn(&Finite) -> bool| -> usize {
        report.entries().map(|entry| meant(&entry, options.better).filter(is).count()).sum()
    };
    let zeros = count(|it| it.value == 0.0);
    if zeros > 0 {
        let zeros = units::count(zeros, "value");
        notes.push(format!(
            "{zeros} of 0 left out: github-action-benchmark would alert at the first that is not 0"
        ));
    }
    if count(|it| it.value != 0.0) == 0 {
        notes.push("it is empty, and github-action-benchmark refuses an empty list".to_owned());
    }
    Ok(notes)
}

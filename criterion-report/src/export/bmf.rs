//! Bencher Metric Format: benchmark to measure to value with bounds, all numbers.

use std::io::Write;

use anyhow::Result;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Finite, figures};
use crate::model::Entry;
use crate::read::Report;
use crate::render::json_text::{self, Style};
use crate::render::object::document;
use crate::views::written::Notes;

/// Benchmarks by `full_id`, which is their name and may be 1024 characters long.
struct Benchmarks<'a>(&'a Report);

struct Measures<'a>(Entry<'a>);

document! {
    struct Metric = new(figure: &Finite) {
        value: f64 = figure.value,
        #[serde(skip_serializing_if = "Option::is_none")]
        lower_value: Option<f64> = figure.interval.map(|it| it.low),
        #[serde(skip_serializing_if = "Option::is_none")]
        upper_value: Option<f64> = figure.interval.map(|it| it.high),
    }
}

impl Serialize for Benchmarks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entries = self.0.entries().filter(|entry| figures(entry).next().is_some());
        serializer.collect_map(entries.map(|entry| (entry.row.full_id(), Measures(entry))))
    }
}

impl Serialize for Measures<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for figure in figures(&self.0) {
            map.serialize_entry(figure.field.name, &Metric::new(&figure))?;
        }
        map.end()
    }
}

pub fn write(report: &Report, out: &mut dyn Write) -> Result<Notes> {
    json_text::write(&Benchmarks(report), Style::Pretty, out)?;
    writeln!(out)?;
    Ok(super::without_figures(report))
}

//! What would go wrong in the database without an error message, refused before it is written.

use std::collections::HashMap;

use thiserror::Error;

use super::record::DbCase;
use crate::model::database::{Series, is_storable};

/// Why a file must not be uploaded.
#[derive(Debug, Error, PartialEq)]
pub enum DashboardError {
    /// Two records that dashboards would draw as one series.
    #[error(
        "two cases would become one series on the dashboard, `{metric}` of `{model}`:\n  {first}\n  \
         {second}\n  choose one with --filter, or those of the latest run with --latest"
    )]
    SameSeries {
        /// Metric.
        metric: String,
        /// Name of the model.
        model: String,
        /// The one case.
        first: String,
        /// The other.
        second: String,
    },
    /// A number that strict JSON has no word for.
    #[error("{case}: `{metric}` is {value}, which the database cannot hold")]
    NotFinite {
        /// Case.
        case: String,
        /// Metric.
        metric: String,
        /// Value.
        value: f64,
    },
    /// A name that the uploader passes over.
    #[error(
        "{file}: the uploader takes only files named *.json; write to a name that ends in .json"
    )]
    NotJson {
        /// File asked for.
        file: String,
    },
    /// Nothing to write.
    #[error("no case has a result for the dashboard{}", indented(.0))]
    Empty(Vec<String>),
}

fn indented(notes: &[String]) -> String {
    notes.iter().map(|note| format!("\n  {note}")).collect()
}

/// What dashboards tell the records of a case by.
pub struct Named<'a> {
    id: &'a str,
    series: Series<'static>,
    model: String,
    metrics: Vec<String>,
}

impl<'a> Named<'a> {
    /// Checks the records of the case with this id, and keeps their names alone.
    pub fn of(id: &'a str, case: DbCase) -> Result<Self, DashboardError> {
        for metric in &case.metrics {
            let value = metric.benchmark_values[0];
            if !is_storable(value) {
                let (case, metric) = (id.to_owned(), metric.name.clone());
                return Err(DashboardError::NotFinite { case, metric, value });
            }
        }
        let series = series(&case).into_owned();
        let metrics = case.metrics.into_iter().map(|metric| metric.name).collect();
        Ok(Self { id, series, model: case.model.name, metrics })
    }
}

/// The cases of each series, each with the names of its metrics.
#[derive(Default)]
pub struct Check<'a>(HashMap<Series<'static>, Vec<(&'a str, Vec<String>)>>);

impl<'a> Check<'a> {
    /// Checks what the records of a case are with those before.
    pub fn add(&mut self, case: Named<'a>) -> Result<(), DashboardError> {
        let Named { id, series, model, metrics } = case;
        let others = self.0.entry(series).or_default();
        for name in &metrics {
            let same = others.iter().find(|(_, known)| known.contains(name));
            if let Some((first, _)) = same {
                let (metric, first, second) = (name.clone(), (*first).to_owned(), id.to_owned());
                return Err(DashboardError::SameSeries { metric, model, first, second });
            }
        }
        others.push((id, metrics));
        Ok(())
    }
}

/// The series of a case's records, but for the metric.
fn series(case: &DbCase) -> Series<'_> {
    let info = &case.benchmark.extra_info;
    Series::new([
        Some(&case.benchmark.dtype),
        info.get("arch"),
        info.get("device"),
        case.model.backend,
        None,
        Some(&case.benchmark.mode),
        Some(&case.model.name),
        info.get("use_compile"),
        Some(case.benchmark.name),
    ])
}

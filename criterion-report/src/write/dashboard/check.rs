//! What would go wrong in the database without an error message, refused before it is written.

use std::collections::HashMap;

use thiserror::Error;

use super::record::DbRecord;
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

/// Checks the records, each with the id of its case.
pub fn check(records: &[(String, DbRecord)]) -> Result<(), DashboardError> {
    let mut known = HashMap::new();
    for (case, record) in records {
        let metric = &record.metric;
        let value = metric.benchmark_values[0];
        if !is_storable(value) {
            let (case, metric) = (case.clone(), metric.name.clone());
            return Err(DashboardError::NotFinite { case, metric, value });
        }
        if let Some(first) = known.insert(series(record), case) {
            return Err(DashboardError::SameSeries {
                metric: metric.name.clone(),
                model: record.model.name.clone(),
                first: first.clone(),
                second: case.clone(),
            });
        }
    }
    Ok(())
}

fn series(record: &DbRecord) -> Series<'_> {
    let info = &record.benchmark.extra_info;
    Series::new([
        Some(&record.benchmark.dtype),
        info.get("arch"),
        info.get("device"),
        record.model.backend,
        Some(&record.metric.name),
        Some(&record.benchmark.mode),
        Some(&record.model.name),
        info.get("use_compile"),
    ])
}

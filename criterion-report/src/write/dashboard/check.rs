//! What would go wrong in the database without an error message, refused before it is written.

use std::collections::HashMap;

use thiserror::Error;

use super::record::DbRecord;

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
    let mut series = HashMap::new();
    for (case, record) in records {
        let metric = &record.metric;
        let value = metric.benchmark_values[0];
        // The database stores 32 bits.
        if !(value as f32).is_finite() {
            let (case, metric) = (case.clone(), metric.name.clone());
            return Err(DashboardError::NotFinite { case, metric, value });
        }
        if let Some(first) = series.insert(identity(record), case) {
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

/// By what the dashboard knows a series; the branch is the file's.
fn identity(record: &DbRecord) -> [&str; 8] {
    let info = &record.benchmark.extra_info;
    [
        &record.benchmark.dtype,
        info.get("arch").unwrap_or_default(),
        info.get("device").unwrap_or_default(),
        record.model.backend.unwrap_or_default(),
        &record.metric.name,
        &record.benchmark.mode,
        &record.model.name,
        info.get("use_compile").unwrap_or("false"),
    ]
}

//! Checks for records that the database would lose or change without an error message, before they
//! are written.

use std::collections::HashMap;

use anyhow::{Result, bail};

use super::record::{DbCase, Metric};
use crate::model::database::{Series, is_storable};

/// The names by which dashboards distinguish the records of a case.
pub struct Named<'a> {
    id: &'a str,
    series: Series<'static>,
    model: String,
    metrics: Vec<String>,
}

impl<'a> Named<'a> {
    /// Checks the records of the case with this id, and keeps their names alone.
    pub fn of(id: &'a str, case: DbCase) -> Result<Self> {
        for Metric { name, benchmark_values: [value], .. } in &case.metrics {
            if !is_storable(*value) {
                bail!("{id}: `{name}` is {value}, which the database cannot hold");
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
    /// Adds the records of a case; which of those before are of its series, if any are.
    pub fn add(&mut self, case: Named<'a>) -> Option<String> {
        let Named { id, series, model, metrics } = case;
        let others = self.0.entry(series).or_default();
        let same = metrics.iter().find_map(|metric| {
            let (first, _) = others.iter().find(|(_, known)| known.contains(metric))?;
            Some(format!(
                "two cases would become one series on the dashboard, `{metric}` of `{model}`:\n  \
                 {first}\n  {id}\n  choose one with --filter, or those of the latest run with --latest"
            ))
        });
        if same.is_none() {
            others.push((id, metrics));
        }
        same
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

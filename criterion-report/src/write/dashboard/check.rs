//! Checks for records that the database would lose or change without an error message, before they
//! are written.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Place;

use anyhow::{Result, bail};

use super::record::{DbCase, Metric};
use crate::model::Entry;
use crate::model::database::{Series, is_storable};

/// Checks that the database can hold the values of the case with this id.
pub fn values(id: &str, case: &DbCase<'_>) -> Result<()> {
    for Metric { name, benchmark_values: [value], .. } in &case.metrics {
        if !is_storable(*value) {
            bail!("{id}: `{name}` is {value}, which the database cannot hold");
        }
    }
    Ok(())
}

/// The series of a case's records, but for the metric.
pub fn series(case: &DbCase<'_>) -> Series<'static> {
    let info = &case.benchmark.extra_info;
    let series = Series::new([
        Some(&case.benchmark.dtype),
        info.get("arch"),
        info.get("device"),
        case.model.backend,
        None,
        Some(case.benchmark.mode),
        Some(&case.model.name),
        info.get("use_compile"),
        Some(case.benchmark.name),
    ]);
    series.into_owned()
}

/// The cases of each series.
#[derive(Default)]
pub struct Check<'a>(HashMap<Series<'static>, Vec<Entry<'a>>>);

impl<'a> Check<'a> {
    /// Adds a case with the series of its records; says so if a metric is in that series already.
    pub fn add(
        &mut self,
        series: Series<'static>,
        case: Entry<'a>,
        metrics: impl Fn(&Entry<'a>) -> Vec<String>,
    ) -> Option<String> {
        let mut place = match self.0.entry(series) {
            Place::Vacant(place) => {
                place.insert(vec![case]);
                return None;
            }
            Place::Occupied(place) => place,
        };
        // Hardly any series is that of two cases, so nothing is kept for it.
        let others: Vec<(&str, Vec<String>)> =
            place.get().iter().map(|other| (other.row.full_id(), metrics(other))).collect();
        let same = metrics(&case).into_iter().find_map(|metric| {
            let (first, _) = others.iter().find(|(_, known)| known.contains(&metric))?;
            let (id, model) = (case.row.full_id(), place.key().model());
            Some(format!(
                "two cases would become one series on the dashboard, `{metric}` of `{model}`:\n  \
                 {first}\n  {id}\n  choose one with --filter, or those of the latest run with --latest"
            ))
        });
        if same.is_none() {
            place.get_mut().push(case);
        }
        same
    }
}

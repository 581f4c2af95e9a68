//! Checks for records that the database would lose or change without an error message, before they
//! are written.

use anyhow::{Result, bail};
use indexmap::{IndexMap, IndexSet};

use super::record::{DbCase, Metric};
use crate::model::Entry;
use crate::read::database::{Series, is_storable};
use crate::render::units;
use crate::visible;

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

/// The cases of each series (without its metric), in the order of the report.
#[derive(Default)]
pub struct Check<'a>(IndexMap<Series<'static>, Vec<Entry<'a>>>);

/// Metrics that a dashboard would draw as one line although they belong to several cases.
pub struct Shared<'a> {
    model: String,
    metrics: Vec<String>,
    cases: Vec<Entry<'a>>,
}

impl<'a> Check<'a> {
    /// Adds a case with the series of its records.
    pub fn add(&mut self, series: Series<'static>, case: Entry<'a>) {
        self.0.entry(series).or_default().push(case);
    }

    /// The metrics that occur in several cases of a series.
    pub fn shared(&self, metrics: impl Fn(&Entry<'a>) -> Vec<String>) -> Vec<Shared<'a>> {
        // Series rarely have several cases, so metrics are collected only for those.
        let several = self.0.iter().filter(|(_, cases)| cases.len() > 1);
        several.filter_map(|(series, cases)| Shared::new(series, cases, &metrics)).collect()
    }
}

impl<'a> Shared<'a> {
    fn new(
        series: &Series<'_>,
        cases: &[Entry<'a>],
        metrics: impl Fn(&Entry<'a>) -> Vec<String>,
    ) -> Option<Self> {
        let named: Vec<(Entry<'a>, Vec<String>)> =
            cases.iter().map(|case| (*case, metrics(case))).collect();
        let mut count: IndexMap<&str, usize> = IndexMap::new();
        for name in named.iter().flat_map(|(_, names)| names) {
            *count.entry(name).or_default() += 1;
        }
        count.retain(|_, cases| *cases > 1);
        let has_any = |names: &[String]| names.iter().any(|name| count.contains_key(&**name));
        let cases: Vec<Entry<'a>> =
            named.iter().filter(|(_, names)| has_any(names)).map(|(case, _)| *case).collect();
        let metrics: Vec<String> = count.keys().map(|&name| name.to_owned()).collect();
        (!cases.is_empty()).then(|| Self { model: series.model().to_owned(), metrics, cases })
    }

    /// Each case with the metrics that must not be written for it.
    pub fn refused(&self) -> impl Iterator<Item = (&'a str, &[String])> {
        self.cases.iter().map(|case| (case.row.full_id(), &*self.metrics))
    }

    /// The message: which cases of which configs share a series, and what to do.
    pub fn text(&self) -> String {
        let others = match self.metrics.len() - 1 {
            0 => String::new(),
            others => format!(" and {}", units::count(others, "other metric")),
        };
        let configs: IndexSet<&str> =
            self.cases.iter().map(|case| &*case.row.record.case.config).collect();
        let of = if configs.len() == 1 { "the config" } else { "the configs" };
        let configs: Vec<String> = configs.iter().map(|config| format!("`{config}`")).collect();
        let mut lines: Vec<String> =
            self.cases.iter().map(|case| case.row.full_id().to_owned()).collect();
        lines.push("choose one with --filter, or those of the latest run with --latest".to_owned());
        format!(
            "`{}`{others} of `{}`: {} of {of} {} would become one series on the dashboard:{}",
            self.metrics[0],
            self.model,
            units::count(self.cases.len(), "case"),
            configs.join(", "),
            visible::list(&lines)
        )
    }
}

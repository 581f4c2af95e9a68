//! What the page's script reads.

use serde::Serialize;

use super::cases::Cases;
use super::roofs::Place;
use super::strings::{Strings, Text};
use crate::model::calibration::Skyline;
use crate::model::{Distribution, Entry, Heatmap, HeatmapKind, Report};
use crate::units;

#[derive(Debug, Serialize)]
pub struct Data {
    /// Names of the units of time with the nanoseconds in each, for the axes.
    time_units: Vec<(&'static str, f64)>,
    /// The same of memory, in bytes.
    byte_units: Vec<(&'static str, u64)>,
    /// One array per column, each as long as there are cases.
    cases: Cases,
    maps: Vec<Map>,
    places: Vec<Place>,
    /// Texts; elsewhere they are named by their place here.
    texts: Vec<String>,
}

impl Data {
    pub fn of(report: &Report, entries: &[Entry<'_>]) -> Self {
        let mut strings = Strings::default();
        let skylines = Skyline::all(report.rows());
        let mut places: Vec<Place> = Vec::new();
        let cases = Cases::of(report, entries, &skylines, &mut places, &mut strings);
        let maps = Heatmap::all(report).into_iter().map(|map| Map::of(map, &mut strings));
        let maps = maps.collect();
        Self {
            time_units: units::TIME_UNITS.to_vec(),
            byte_units: units::ByteUnit::ALL.map(|unit| (unit.name, unit.bytes())).to_vec(),
            cases,
            maps,
            places,
            texts: strings.into_all(),
        }
    }
}

/// A map; the colours of its fields follow from the cases.
#[derive(Debug, Serialize)]
pub struct Map {
    group: Text,
    /// `shapes` or `sweep`.
    kind: &'static str,
    /// Variant, dtype and k of a sweep.
    title: Text,
    rows: Vec<Text>,
    columns: Vec<Text>,
    /// Row by row the place of the case, or null.
    cells: Vec<Option<usize>>,
}

impl Map {
    pub fn of(map: Heatmap, strings: &mut Strings) -> Self {
        let Heatmap { group, kind, rows, columns, cells } = map;
        let (kind, title) = match kind {
            HeatmapKind::Shapes => ("shapes", "dtype and shape × variant".to_owned()),
            HeatmapKind::Sweep { variant, dtype, k } => {
                ("sweep", format!("{variant}, {dtype}, k = {k}"))
            }
        };
        Self {
            group: strings.text(&group),
            kind,
            title: strings.text(&title),
            rows: rows.iter().map(|name| strings.text(name)).collect(),
            columns: columns.iter().map(|name| strings.text(name)).collect(),
            cells,
        }
    }
}

/// Quantiles as times to be read: fastest, quartiles with the median between them, 90th and 99th
/// percentile, slowest; what is not known is null. Behind them the number of times.
#[derive(Debug, Serialize)]
pub struct Spread(Option<([Option<String>; 7], u64)>);

impl Spread {
    pub fn of(distribution: Option<Distribution>) -> Self {
        Self(distribution.map(|it| {
            let quantiles = [
                it.fastest_ns,
                it.lower_quartile_ns,
                Some(it.median_ns),
                it.upper_quartile_ns,
                it.p90_ns,
                it.p99_ns,
                Some(it.slowest_ns),
            ];
            (quantiles.map(|ns| ns.map(units::time)), it.count)
        }))
    }
}

//! What the page's script reads.

use serde::Serialize;

use super::cases::Cases;
use super::maps::Map;
use super::roofs::Place;
use super::strings::Strings;
use crate::model::calibration::Skyline;
use crate::model::{Entry, Heatmap, Report};
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

//! The data that the page's script reads.

use plan::Mode;
use serde::Serialize;

use super::cases::{Cases, Context};
use super::figures::{Figure, Strings, Text};
use super::profiles::Links;
use super::roofs::Chart;
use crate::model::Entry;
use crate::read::Report;
use crate::render::object::document;
use crate::render::units;
use crate::views::calibration::RooflineSet;
use crate::views::{Heatmap, HeatmapKind};

#[derive(Serialize)]
pub struct Data {
    /// Names of the units of time with the nanoseconds in each, for the axes.
    time_units: Vec<(&'static str, f64)>,
    /// Names of the units of memory with the bytes in each.
    byte_units: Vec<(&'static str, u64)>,
    /// One array per column, each as long as there are cases.
    cases: Cases,
    maps: Vec<Map>,
    places: Vec<Chart>,
    /// Texts; elsewhere they are named by their place here.
    texts: Vec<String>,
}

impl Data {
    pub fn new(report: &Report, entries: &[Entry<'_>], links: &Links) -> Self {
        let mut strings = Strings::default();
        let roofline_sets = RooflineSet::all(report.with_calibrations());
        let mut places: Vec<Chart> = Vec::new();
        let context = Context::new(report, &roofline_sets, links);
        let cases = Cases::new(&context, entries, &mut places, &mut strings);
        // Calibration compares a machine with itself.
        let is_about_work = |map: &Heatmap| plan::mode_of(&map.group) != Mode::Calibration.as_str();
        let maps = Heatmap::all(report).into_iter().filter(is_about_work);
        let maps = maps.map(|map| Map::new(map, &mut strings)).collect();
        Self {
            time_units: units::TIME_UNITS.to_vec(),
            byte_units: units::ByteUnit::ALL.map(|unit| (unit.name, unit.bytes)).to_vec(),
            cases,
            maps,
            places,
            texts: strings.into_all(),
        }
    }
}

document! {
    /// A map; the colours of its fields follow from the cases.
    pub struct Map = new(map: Heatmap, strings: &mut Strings) [
        (kind, title) = match map.kind {
            HeatmapKind::Shapes => ("shapes", "dtype and shape × variant".to_owned()),
            HeatmapKind::Sweep { variant, dtype, k } => {
                ("sweep", format!("{variant}, {dtype}, k = {k}"))
            }
            HeatmapKind::Crossover { variant, dtype } => {
                ("crossover", format!("{variant} over the baseline run the same way, {dtype}"))
            }
        };
    ] {
        group: Text = strings.text(&map.group),
        /// `shapes`, `sweep` or `crossover`.
        kind: &'static str = kind,
        /// Variant, dtype and k of a sweep.
        title: Text = strings.text(&title),
        rows: Vec<Text> = map.rows.iter().map(|name| strings.text(name)).collect(),
        columns: Vec<Text> = map.columns.iter().map(|name| strings.text(name)).collect(),
        /// Row by row the place of the case, or null.
        cells: Vec<Option<usize>> = map.cells,
        /// Row by row the speed-up of a crossover's field, measured or predicted; absent of other maps.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        speedups: Vec<Figure> = map.speedups.into_iter().map(Figure).collect(),
    }
}

//! The data that the page's script reads.

use indexmap::IndexSet;
use plan::Mode;
use serde::Serialize;

use super::cases::{Cases, Context};
use super::profiles::Links;
use super::roofs::Place;
use crate::model::calibration::Skyline;
use crate::model::{Distribution, Entry, Heatmap, HeatmapKind, Report};
use crate::object::document;
use crate::{units, visible};

#[derive(Serialize)]
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
    pub fn of(report: &Report, entries: &[Entry<'_>], links: &Links) -> Self {
        let mut strings = Strings::default();
        let skylines = Skyline::all(report.with_calibrations());
        let mut places: Vec<Place> = Vec::new();
        let context = Context::of(report, &skylines, links);
        let cases = Cases::of(&context, entries, &mut places, &mut strings);
        // Calibration compares a machine with itself.
        let is_about_work = |map: &Heatmap| plan::mode_of(&map.group) != Mode::Calibration.as_str();
        let maps = Heatmap::all(report).into_iter().filter(is_about_work);
        let maps = maps.map(|map| Map::of(map, &mut strings)).collect();
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

document! {
    /// A map; the colours of its fields follow from the cases.
    pub struct Map = of(map: Heatmap, strings: &mut Strings) [
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

/// Place of a text among all texts.
pub type Text = u32;

#[derive(Debug, Default)]
pub struct Strings(IndexSet<String>);

impl Strings {
    /// The place of a text, which is added if it is new.
    pub fn text(&mut self, text: &str) -> Text {
        let text = &*visible::lines(text);
        let known = self.0.get_index_of(text);
        let place = known.unwrap_or_else(|| self.0.insert_full(text.to_owned()).0);
        Text::try_from(place).expect("fewer texts than memory has room for")
    }

    pub fn into_all(self) -> Vec<String> {
        self.0.into_iter().collect()
    }
}

/// A figure with six significant digits, for a place in a chart or in an order; where one is to be
/// read it is a text of its own. A non-finite number is a word: JSON has no infinity.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figure(pub f64);

impl Serialize for Figure {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rounded: f64 = format!("{:.5e}", self.0).parse().map_err(serde::ser::Error::custom)?;
        // Whole ones without a point.
        if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
            return serializer.serialize_i64(rounded as i64);
        }
        plan::Stat(rounded).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_stands_there_once() {
        let mut strings = Strings::default();
        assert_eq!([strings.text("a"), strings.text("b"), strings.text("a")], [0, 1, 0]);
        assert_eq!(strings.into_all(), ["a", "b"]);
    }

    #[test]
    fn figures_are_short() {
        for (value, text) in [
            (1.0 / 3.0, "0.333333"),
            (12_345_678.9, "12345700"),
            (-2.0, "-2"),
            (1.5e-9, "1.5e-9"),
            (0.0, "0"),
            (f64::INFINITY, "\"inf\""),
            (f64::NAN, "\"nan\""),
        ] {
            assert_eq!(serde_json::to_string(&Figure(value)).expect("JSON"), text);
        }
    }
}

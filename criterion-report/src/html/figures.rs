//! Texts and figures of the page's data.

use indexmap::IndexSet;
use serde::Serialize;

use crate::model::Distribution;
use crate::render::units;
use crate::visible;

/// Quantiles as times to be read: fastest, quartiles with the median between them, 90th and 99th
/// percentile, slowest; what is not known is null. Behind them the number of times.
#[derive(Debug, Serialize)]
pub struct Spread(Option<([Option<String>; 7], u64)>);

impl Spread {
    pub fn new(distribution: Option<Distribution>) -> Self {
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
        plan::JsonFloat(rounded).serialize(serializer)
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

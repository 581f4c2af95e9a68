//! Texts and figures of the page's data, small: each text stands there once, and figures have as
//! many digits as anyone can see.

use std::collections::HashMap;

use serde::Serialize;

use crate::visible;

/// Place of a text among all texts.
pub type Text = u32;

#[derive(Debug, Default)]
pub struct Strings {
    places: HashMap<String, Text>,
    all: Vec<String>,
}

impl Strings {
    /// The place of a text, which is added if it is new.
    pub fn text(&mut self, text: &str) -> Text {
        let text = &*visible::lines(text);
        if let Some(&place) = self.places.get(text) {
            return place;
        }
        let place = Text::try_from(self.all.len()).expect("fewer texts than memory has room for");
        self.places.insert(text.to_owned(), place);
        self.all.push(text.to_owned());
        place
    }

    pub fn into_all(self) -> Vec<String> {
        self.all
    }
}

/// A figure with six significant digits, for a place in a chart or in an order; where one is to be
/// read it is a text of its own. What is not finite is a word: JSON has no infinity.
#[derive(Debug, Clone, Copy, PartialEq)]
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

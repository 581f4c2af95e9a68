//! The value of a field for a case.

use std::borrow::Cow;
use std::collections::BTreeMap;

use plan::{JsonFloat, Range};
use serde::{Serialize, Serializer};

use crate::model::{Gain, Interval, Time};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// The value; an SQNR may be infinite, and no error a number.
    pub value: f64,
    /// Confidence interval, at the level of what it is made of.
    pub interval: Option<Interval>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    Figure(Figure),
    Count(u64),
    /// Readings.
    Range(Range),
    Flag(bool),
    Text(Cow<'a, str>),
    /// Several, never none.
    List(Vec<String>),
    /// Numbers of one unit by name; never empty.
    Named(&'a BTreeMap<String, u64>),
}

/// A part of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValuePart {
    /// The value itself; of readings their median.
    Value,
    /// The lower bound of its interval, or the lowest reading.
    Low,
    /// The upper bound, or the highest reading.
    High,
}

impl<'a> Value<'a> {
    pub fn word(of: impl ToString) -> Option<Self> {
        Some(Self::Text(of.to_string().into()))
    }

    /// Several items; no value where there are none.
    pub fn list(items: impl IntoIterator<Item: ToString>) -> Option<Self> {
        let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
        (!items.is_empty()).then_some(Self::List(items))
    }

    /// Numbers by name; no value where there are none.
    pub fn named(values: &'a BTreeMap<String, u64>) -> Option<Self> {
        (!values.is_empty()).then_some(Self::Named(values))
    }

    pub const fn figure(&self) -> Option<Figure> {
        match *self {
            Self::Figure(figure) => Some(figure),
            Self::Count(count) => Some(Figure { value: count as f64, interval: None }),
            Self::Range(Range { median, .. }) => Some(Figure { value: median, interval: None }),
            Self::Flag(_) | Self::Text(_) | Self::List(_) | Self::Named(_) => None,
        }
    }

    pub fn part(self, part: ValuePart) -> Option<Self> {
        match (part, self) {
            (ValuePart::Value, Self::Range(Range { median, .. })) => Some(median.into()),
            (ValuePart::Value, Self::Figure(Figure { value, .. })) => Some(value.into()),
            (ValuePart::Value, value) => Some(value),
            (ValuePart::Low, Self::Range(Range { min, .. })) => Some(min.into()),
            (ValuePart::High, Self::Range(Range { max, .. })) => Some(max.into()),
            (ValuePart::Low, value) => Some(value.figure()?.interval?.low.into()),
            (ValuePart::High, value) => Some(value.figure()?.interval?.high.into()),
        }
    }

    /// In a unit of which one is `scale` of the field's.
    pub fn per(self, scale: f64) -> Self {
        if scale == 1.0 {
            return self;
        }
        match self {
            Self::Count(count) => (count as f64 / scale).into(),
            Self::Figure(Figure { value, interval }) => {
                let bounds =
                    |Interval { low, high }| Interval { low: low / scale, high: high / scale };
                Self::Figure(Figure { value: value / scale, interval: interval.map(bounds) })
            }
            Self::Range(Range { min, median, max }) => {
                Self::Range(Range { min: min / scale, median: median / scale, max: max / scale })
            }
            other => other,
        }
    }
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Figure(Figure { value, .. }) => JsonFloat(*value).serialize(serializer),
            Self::Count(count) => serializer.serialize_u64(*count),
            Self::Range(range) => range.serialize(serializer),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => items.serialize(serializer),
            Self::Named(values) => values.serialize(serializer),
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Value<'_> {
    fn schema_name() -> Cow<'static, str> {
        "Value".into()
    }

    /// The field decides which of these it is; infinities and NaN are strings.
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["number", "string", "boolean", "array", "object"] })
    }
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Self::Figure(Figure { value, interval: None })
    }
}

impl From<&Gain> for Value<'_> {
    fn from(gain: &Gain) -> Self {
        Self::Figure(Figure { value: gain.ratio, interval: Some(gain.interval) })
    }
}

impl From<Figure> for Value<'_> {
    fn from(figure: Figure) -> Self {
        Self::Figure(figure)
    }
}

impl From<usize> for Value<'_> {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<u64> for Value<'_> {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<&Time> for Value<'_> {
    fn from(time: &Time) -> Self {
        Self::Figure(Figure { value: time.median_ns, interval: time.interval })
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text.as_str().into())
    }
}

impl<'a> From<&&'a String> for Value<'a> {
    fn from(text: &&'a String) -> Self {
        Self::Text(text.as_str().into())
    }
}

/// Numbers of a record, as they stand there.
macro_rules! from_record {
    ($($type:ty => |$value:ident| $made:expr;)*) => {
        $(impl From<&$type> for Value<'_> {
            fn from($value: &$type) -> Self {
                $made
            }
        })*
    };
}

from_record! {
    f64 => |value| (*value).into();
    JsonFloat => |value| value.0.into();
    u32 => |count| Self::Count(u64::from(*count));
    u64 => |count| Self::Count(*count);
    Range => |range| Self::Range(*range);
    bool => |flag| Self::Flag(*flag);
}

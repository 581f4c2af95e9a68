//! A limit of the machine, and where its figure is from.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::operation::Operation;
use crate::model::Figure;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum PeakSource {
    Measured,
    /// The user's own figure.
    Given,
    Preset(String),
    /// A case with this id was faster than every product that was made to find the peak.
    Reached(String),
}

impl fmt::Display for PeakSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Measured => f.write_str("measured"),
            Self::Given => f.write_str("given"),
            Self::Preset(name) => write!(f, "preset {name}"),
            Self::Reached(id) => write!(f, "reached by {id}"),
        }
    }
}

impl From<PeakSource> for String {
    fn from(source: PeakSource) -> Self {
        source.to_string()
    }
}

impl TryFrom<String> for PeakSource {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let of = |prefix: &str| text.strip_prefix(prefix).map(str::to_owned);
        let known = match text.as_str() {
            "measured" => Some(Self::Measured),
            "given" => Some(Self::Given),
            _ => of("preset ").map(Self::Preset).or_else(|| of("reached by ").map(Self::Reached)),
        };
        known.ok_or_else(|| {
            let known = "measured, given, preset NAME, reached by ID";
            format!("source of a peak `{text}` is none of {known}")
        })
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Best {
    /// Its rate, 10⁹ per second.
    pub value: f64,
    /// Lower bound of it; null in quick mode.
    pub low: Option<f64>,
    /// Upper bound of it; null in quick mode.
    pub high: Option<f64>,
    /// Key of the operation.
    pub operation: String,
}

impl Best {
    /// The one of `operations` whose `rate` is highest.
    pub fn of<'a, 'r: 'a>(
        operations: impl IntoIterator<Item = &'a Operation<'r>>,
        rate: impl Fn(&Operation<'r>) -> Figure,
    ) -> Option<Self> {
        let rated = operations.into_iter().map(|operation| (rate(operation), operation.key));
        let (Figure { value, interval }, key) =
            rated.max_by(|(a, _), (b, _)| a.value.total_cmp(&b.value))?;
        let (low, high) = (interval.map(|it| it.low), interval.map(|it| it.high));
        Some(Self { value, low, high, operation: key.to_string() })
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limit {
    /// 10⁹ per second.
    pub value: f64,
    /// `measured`, `given`, `preset NAME`, or `reached by ID` of a case that was faster than what was measured.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub source: PeakSource,
    /// The best that was measured, if anything was; equal to `value` unless the source is another.
    pub measured: Option<Best>,
}

impl Limit {
    /// The figure to take instead of what was measured, or what was measured; none without both.
    pub fn new(measured: Option<Best>, instead: Option<(f64, PeakSource)>) -> Option<Self> {
        let best = measured.as_ref().map(|best| (best.value, PeakSource::Measured));
        let (value, source) = instead.or(best)?;
        Some(Self { value, source, measured })
    }
}

/// The best, mean and worst of several rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub best: f64,
    pub mean: f64,
    pub worst: f64,
}

impl Spread {
    /// The spread of any values at all.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.collect();
        let best = values.iter().copied().reduce(f64::max)?;
        let worst = values.iter().copied().reduce(f64::min)?;
        Some(Self { best, mean: values.iter().sum::<f64>() / values.len() as f64, worst })
    }

    /// Best, mean and worst as they stand in a file; none unless all do.
    pub fn from([best, mean, worst]: [Option<f64>; 3]) -> Option<Self> {
        Some(Self { best: best?, mean: mean?, worst: worst? })
    }
}

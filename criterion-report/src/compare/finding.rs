//! The finding on a measure of a case, with its verdict.

use plan::JsonFloat;
use serde::{Serialize, Serializer};
use statistics::Ratio;

use crate::model::Interval;
use crate::render::object::document;
use crate::render::words::words;

words! {
    /// A value of a case that is compared.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    Measure {
        /// How it ended: measured or not.
        Outcome = "outcome",
        /// Median time of a step, in nanoseconds; less is better.
        Time = "time",
        /// Peak of its memory, in bytes; less is better.
        Memory = "memory",
        /// Error against its reference; less is better.
        Accuracy = "accuracy",
        /// Energy of a step, in joules; less is better.
        Energy = "energy",
        /// Time of its group's baseline over its own; more is better.
        Speedup = "speed-up",
    }
}

impl Measure {
    pub const fn unit(self) -> Option<&'static str> {
        match self {
            Self::Time => Some("ns"),
            Self::Memory => Some("B"),
            Self::Energy => Some("J"),
            Self::Accuracy | Self::Speedup | Self::Outcome => None,
        }
    }
}

words! {
    /// The verdict on a difference; the worst comes first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    Verdict {
        /// Worse, beyond the threshold and beyond what noise explains.
        Regressed = "regressed",
        /// A case that was measured has no result now.
        Missing = "missing",
        /// Noise hides whether there is a difference that matters.
        Inconclusive = "inconclusive",
        /// Better, beyond the threshold and beyond what noise explains.
        Improved = "improved",
        /// Measured now, and not earlier.
        New = "new",
        /// Any difference is too small to matter.
        Equivalent = "equivalent",
        /// There is nothing to compare.
        NotCompared = "not compared",
    }
}

document! {
    #[derive(Debug, Clone, PartialEq)]
    #[cfg_attr(feature = "schema", schemars(rename = "Measured"))]
    pub struct Finding = new(measure: Measure, verdict: Verdict, reason: impl Into<String>) {
        /// The compared measure.
        pub measure: Measure = measure,
        /// The measure, or which error an accuracy is: `relative_error` or `rmse`.
        pub name: &'static str = measure.word(),
        /// `ns`, `B`, `J` or null.
        pub unit: Option<&'static str> = measure.unit(),
        /// Value of A, over its runs.
        #[serde(serialize_with = "stat")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<JsonFloat>"))]
        pub a: Option<f64> = None,
        /// Value of B.
        #[serde(serialize_with = "stat")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<JsonFloat>"))]
        pub b: Option<f64> = None,
        /// B over A.
        #[serde(serialize_with = "stat")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<JsonFloat>"))]
        pub ratio: Option<f64> = None,
        /// Lower bound of the ratio's interval.
        #[serde(serialize_with = "stat")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<JsonFloat>"))]
        pub low: Option<f64> = None,
        /// Upper bound.
        #[serde(serialize_with = "stat")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<JsonFloat>"))]
        pub high: Option<f64> = None,
        /// Level of the interval: 0.95, or of single runs by the policy `within` criterion's.
        #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
        pub confidence_level: Option<f64> = None,
        /// The threshold; null by the policy `hud`.
        #[cfg_attr(feature = "schema", schemars(range(min = 0.0)))]
        pub threshold: Option<f64> = None,
        /// Two-sided p of no difference.
        #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
        pub p: Option<f64> = None,
        /// The p adjusted for all cases at once, by Holm's method.
        #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
        pub adjusted_p: Option<f64> = None,
        /// How the case ended on both sides; of an outcome alone.
        #[serde(skip)]
        pub ended: Option<[String; 2]> = None,
        /// The verdict on this measure.
        pub verdict: Verdict = verdict,
        /// The reason for the verdict.
        pub reason: String = reason.into(),
    }
}

/// An error may be infinite or NaN.
fn stat<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    value.map(JsonFloat).serialize(serializer)
}

impl Finding {
    /// With the values of both sides.
    pub fn with_values(self, a: f64, b: f64) -> Self {
        Self { a: Some(a), b: Some(b), ..self }
    }

    /// With B over A, and its interval at a level.
    pub fn with_ratio(self, ratio: &Ratio, confidence_level: f64) -> Self {
        let Ratio { ratio, low, high } = *ratio;
        let (ratio, low, high) = (Some(ratio), Some(low), Some(high));
        Self { ratio, low, high, confidence_level: Some(confidence_level), ..self }
    }

    pub fn interval(&self) -> Option<Interval> {
        self.low.zip(self.high).map(|(low, high)| Interval { low, high })
    }

    /// How much it is, to sort by: what has no number comes first, then the factor either way, then
    /// errors by their difference.
    pub fn weight(&self) -> (u8, f64) {
        match (self.measure, self.ratio, self.a.zip(self.b)) {
            (Measure::Outcome, ..) => (2, 0.0),
            (_, Some(ratio), _) if ratio > 0.0 => (1, ratio.ln().abs()),
            // A NaN is the largest error.
            (Measure::Accuracy, _, Some((a, b))) if (b - a).is_nan() => (0, f64::INFINITY),
            (Measure::Accuracy, _, Some((a, b))) => (0, (b - a).abs()),
            _ => (0, 0.0),
        }
    }
}

/// The reasons of these, each once, with the measures that give it.
pub fn reasons<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<(Vec<Measure>, &'a str)> {
    let mut reasons: Vec<(Vec<Measure>, &str)> = Vec::new();
    for finding in findings {
        match reasons.iter_mut().find(|(_, reason)| *reason == finding.reason) {
            Some((measures, _)) => measures.push(finding.measure),
            None => reasons.push((vec![finding.measure], &finding.reason)),
        }
    }
    reasons
}

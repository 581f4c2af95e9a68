//! From which difference on a case is another, measure by measure and case by case.

use std::path::Path;

use anyhow::Result;
use regex::Regex;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::finding::Measure;
use crate::read::file;

/// The thresholds of one case.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// Threshold of the time, relative to A's: 0.1 is a tenth longer.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0)))]
    pub latency: f64,
    /// Threshold of the peak of memory, relative to A's.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0)))]
    pub memory: f64,
    /// Threshold of the relative error: a difference.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0)))]
    pub accuracy: f64,
    /// Threshold of the energy, relative to A's.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0)))]
    pub energy: f64,
}

impl Default for Limits {
    /// Latency and accuracy are QuASIM's; memory is counted, not timed, so that less of it matters.
    fn default() -> Self {
        Self { latency: 0.10, memory: 0.05, accuracy: 1e-3, energy: 0.10 }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Thresholds {
    /// The limits of cases that no rule matches.
    pub limits: Limits,
    /// In order; of those that match a case, the last that names a measure decides it.
    pub rules: Vec<Rule>,
}

/// The thresholds of some cases.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// A regular expression on the id.
    #[serde(serialize_with = "pattern", deserialize_with = "regex")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub filter: Regex,
    /// The rule's threshold of the time, if it names one.
    #[serde(default, deserialize_with = "share")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>", range(min = 0.0)))]
    pub latency: Option<f64>,
    /// The rule's threshold of the peak of memory.
    #[serde(default, deserialize_with = "share")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>", range(min = 0.0)))]
    pub memory: Option<f64>,
    /// The rule's threshold of the relative error.
    #[serde(default, deserialize_with = "share")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>", range(min = 0.0)))]
    pub accuracy: Option<f64>,
    /// The rule's threshold of the energy.
    #[serde(default, deserialize_with = "share")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>", range(min = 0.0)))]
    pub energy: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    #[serde(deserialize_with = "share")]
    latency: Option<f64>,
    #[serde(deserialize_with = "share")]
    memory: Option<f64>,
    #[serde(deserialize_with = "share")]
    accuracy: Option<f64>,
    #[serde(deserialize_with = "share")]
    energy: Option<f64>,
    rules: Vec<Rule>,
}

/// The error with its place, which it leaves out itself where that is the very beginning.
fn placed(cause: &serde_yaml::Error) -> String {
    let begins = cause.location().is_some_and(|at| (at.line(), at.column()) == (1, 1));
    if begins { format!("{cause} at line 1 column 1") } else { cause.to_string() }
}

impl Thresholds {
    /// Reads a file; what it does not name is as by default.
    pub fn read(path: &Path) -> Result<Self> {
        let text = file::text(path).map_err(|cause| file::unusable(path, cause))?;
        Self::parse(&text).map_err(|cause| {
            let why = format!(
                "{}\n  it takes `latency`, `memory`, `accuracy` and `energy`, and `rules`, a list of \
                 the same with a `filter`",
                placed(&cause)
            );
            file::unusable(path, why)
        })
    }

    fn parse(text: &str) -> Result<Self, serde_yaml::Error> {
        // An empty file is null, and says nothing.
        let file: Option<File> = plan::yaml::parse(text)?;
        let File { latency, memory, accuracy, energy, rules } = file.unwrap_or_default();
        let mut limits = Limits::default();
        limits.set(latency, memory, accuracy, energy);
        Ok(Self { limits, rules })
    }

    pub fn limits_for(&self, full_id: &str) -> Limits {
        let mut limits = self.limits;
        for rule in self.rules.iter().filter(|rule| rule.filter.is_match(full_id)) {
            limits.set(rule.latency, rule.memory, rule.accuracy, rule.energy);
        }
        limits
    }
}

impl Limits {
    pub const fn threshold(&self, measure: Measure) -> Option<f64> {
        match measure {
            Measure::Time => Some(self.latency),
            Measure::Memory => Some(self.memory),
            Measure::Accuracy => Some(self.accuracy),
            Measure::Energy => Some(self.energy),
            Measure::Speedup | Measure::Outcome => None,
        }
    }

    /// Replaces what is given.
    pub fn set(
        &mut self,
        latency: Option<f64>,
        memory: Option<f64>,
        accuracy: Option<f64>,
        energy: Option<f64>,
    ) {
        self.latency = latency.unwrap_or(self.latency);
        self.memory = memory.unwrap_or(self.memory);
        self.accuracy = accuracy.unwrap_or(self.accuracy);
        self.energy = energy.unwrap_or(self.energy);
    }
}

pub fn threshold(text: &str) -> Result<f64, String> {
    text.parse().map_err(|error: std::num::ParseFloatError| error.to_string()).and_then(checked)
}

fn checked(value: f64) -> Result<f64, String> {
    let possible = value >= 0.0 && value.is_finite();
    if possible { Ok(value) } else { Err("a threshold is a number of 0 or more".to_owned()) }
}

fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    checked(f64::deserialize(deserializer)?).map(Some).map_err(D::Error::custom)
}

fn pattern<S: Serializer>(regex: &Regex, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(regex.as_str())
}

fn regex<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Regex, D::Error> {
    let text = String::deserialize(deserializer)?;
    Regex::new(&text).map_err(|error| {
        // The error stands in the last line, below the text with a mark.
        let error = error.to_string();
        let why = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
        D::Error::custom(format!("the filter `{text}` is not a regular expression: {why}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_rule_that_matches_wins_measure_by_measure() {
        let thresholds = Thresholds::parse(
            "latency: 0.2\n\
             rules:\n\
             - { filter: int8, latency: 0.3, memory: 0 }\n\
             - { filter: /cuda/, latency: 0.02 }\n\
             - { filter: nothing, latency: 9 }\n",
        )
        .expect("thresholds");
        let limits = |latency, memory| Limits { latency, memory, ..Limits::default() };
        for (id, expected) in [
            ("a/b/linear/cpu/bf16", limits(0.2, 0.05)),
            ("a/b/linear/cpu/int8wo", limits(0.3, 0.0)),
            ("a/b/linear/cuda/int8wo", limits(0.02, 0.0)),
        ] {
            assert_eq!(thresholds.limits_for(id), expected, "{id}");
        }
        let nothing = Thresholds::parse("").expect("an empty file");
        assert_eq!(nothing.limits_for("x"), Limits::default());
    }

    #[test]
    fn what_is_not_understood_is_named_with_its_place() {
        for (text, says) in [
            ("latencies: 0.1", "unknown field `latencies`"),
            ("latency: 0.1\nrules:\n- { filter: a, speed: 1 }", "line 3"),
            ("latency: -1", "a threshold is a number of 0 or more"),
            ("latency: .nan", "a threshold is a number of 0 or more"),
            ("latency: fast", "line 1"),
            ("rules:\n- { filter: '(' }", "unclosed group"),
            ("rules:\n- { latency: 1 }", "missing field `filter`"),
            ("- 1", "line 1"),
        ] {
            let error = placed(&Thresholds::parse(text).expect_err(text));
            assert!(error.contains(says), "{text}: {error}");
            assert!(error.contains("line "), "{text}: {error}");
        }
    }

    #[test]
    fn a_threshold_is_not_negative() {
        assert_eq!(threshold("0.5"), Ok(0.5));
        assert_eq!(threshold("1e-3"), Ok(1e-3));
        assert!(threshold("-0.1").is_err() && threshold("inf").is_err() && threshold("x").is_err());
    }
}

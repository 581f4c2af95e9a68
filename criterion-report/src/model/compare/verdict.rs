//! What a comparison says of a case, and of each of its measures.

use schemars::JsonSchema;
use serde::Serialize;

/// What is compared of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// How it ended: measured or not.
    Outcome,
    /// Median time of a step, in nanoseconds; less is better.
    Time,
    /// Peak of its memory, in bytes; less is better.
    Memory,
    /// Error against its reference; less is better.
    Accuracy,
    /// Energy of a step, in joules; less is better.
    Energy,
    /// Time of its group's baseline over its own; more is better.
    #[serde(rename = "speed-up")]
    Speedup,
}

impl Measure {
    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Outcome => "outcome",
            Self::Time => "time",
            Self::Memory => "memory",
            Self::Accuracy => "accuracy",
            Self::Energy => "energy",
            Self::Speedup => "speed-up",
        }
    }
}

/// What may be said of a difference. In this order the worst comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Worse, beyond the threshold and beyond what noise explains.
    Regressed,
    /// What was measured has no result now.
    Missing,
    /// Noise hides whether there is a difference that matters.
    Inconclusive,
    /// Better, beyond the threshold and beyond what noise explains.
    Improved,
    /// Measured now, and not earlier.
    New,
    /// Any difference is too small to matter.
    Equivalent,
    /// There is nothing to compare.
    #[serde(rename = "not compared")]
    NotCompared,
}

impl Verdict {
    /// All of them, the worst first.
    pub const ALL: [Self; 7] = [
        Self::Regressed,
        Self::Missing,
        Self::Inconclusive,
        Self::Improved,
        Self::New,
        Self::Equivalent,
        Self::NotCompared,
    ];

    /// Its words.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Regressed => "regressed",
            Self::Missing => "missing",
            Self::Inconclusive => "inconclusive",
            Self::Improved => "improved",
            Self::New => "new",
            Self::Equivalent => "equivalent",
            Self::NotCompared => "not compared",
        }
    }
}

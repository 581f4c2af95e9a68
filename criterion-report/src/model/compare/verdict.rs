//! The verdict of a comparison on a case, and on each of its measures.

use schemars::JsonSchema;
use serde::Serialize;

use crate::words::words;

words! {
    /// A value of a case that is compared.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
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
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
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

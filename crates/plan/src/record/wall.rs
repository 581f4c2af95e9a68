//! How long measuring a case took.

use serde::{Deserialize, Serialize};

/// Wall seconds of a case, by what they were spent on. Estimates of later runs rest on them.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WallTimes {
    /// Building it, its first step, the check of its output, and the memory of a step.
    pub prepare_s: f64,
    /// The pilot, then criterion's warm-up, samples and analysis.
    pub sampling_s: f64,
    /// Single calls, counters, energy, and the output checked once more.
    pub passes_s: f64,
    /// All looks at its pair, a baseline built for it alone included; 0 without one.
    pub pairs_s: f64,
    /// Whether the config alone decided how long: no option such as `--quick` or `--measurement-time` did.
    pub as_configured: bool,
}

impl WallTimes {
    /// The sum of all stages.
    pub fn seconds(&self) -> f64 {
        self.prepare_s + self.sampling_s + self.passes_s + self.pairs_s
    }
}

//! How a case ended.

use serde::{Deserialize, Serialize};

/// How a case ended. Every selected case ends in exactly one of these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Outcome {
    /// Checked and sampled.
    Measured,
    /// Checked once without sampling (`--test`), or run for a profiler (`--profile-time`).
    Tested,
    /// The machine lacks what the case needs.
    Skipped {
        /// The missing thing, and how to get it.
        reason: String,
    },
    /// No kernel or rule for this combination.
    Unsupported {
        /// The constraint, and the value that broke it.
        reason: String,
    },
    /// Memory ran out, or would have.
    Oom {
        /// The requirement, and what was found instead.
        reason: String,
    },
    /// A time limit passed.
    Timeout {
        /// The limit.
        reason: String,
    },
    /// An error, a panic, or an output that fails its check.
    Failed {
        /// The error.
        error: String,
    },
}

impl Outcome {
    /// The one-word status, as written.
    pub const fn status(&self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Tested => "tested",
            Self::Skipped { .. } => "skipped",
            Self::Unsupported { .. } => "unsupported",
            Self::Oom { .. } => "oom",
            Self::Timeout { .. } => "timeout",
            Self::Failed { .. } => "failed",
        }
    }

    /// Why, where there is a why.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Measured | Self::Tested => None,
            Self::Skipped { reason }
            | Self::Unsupported { reason }
            | Self::Oom { reason }
            | Self::Timeout { reason } => Some(reason),
            Self::Failed { error } => Some(error),
        }
    }

    /// Whether something went wrong that the user has to look at. A lack of the machine, memory
    /// included, is not a failure of the case.
    pub const fn is_failure(&self) -> bool {
        matches!(self, Self::Timeout { .. } | Self::Failed { .. })
    }
}

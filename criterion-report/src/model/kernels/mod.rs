//! Kernels of the authors' own: their cases one by one, what they say together, and how they differ
//! from those of another time.

mod advice;
mod change;
mod compare;
mod findings;
mod leaderboard;
mod manifest;
mod past;
mod precision;
mod result;
mod rival;
mod trend;

pub use super::compare::Point;
pub use advice::Recommendations;
pub use change::{Change, Changed, Changes, Uncompared};
pub use compare::compare;
pub use findings::{Extreme, first_calls, most, slow_calls};
pub use leaderboard::{Contest, contests};
pub use manifest::{KernelEntry, manifest};
pub use past::{Past, SCHEMA, SUMMARY, VERSION, history};
pub use precision::{PrecisionGain, precision_gains};
pub use result::KernelResult;
pub use rival::{Rival, rivals};
pub use trend::{Trend, trends};

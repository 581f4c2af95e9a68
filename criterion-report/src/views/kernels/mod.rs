//! Kernels of the authors' own: their cases one by one, and what they say together.

mod advice;
mod leaderboard;
mod result;
pub mod text;

pub use crate::compare::Point;
pub use crate::compare::branch::BranchHistory;
pub use crate::compare::past::{Past, SCHEMA, SUMMARY, Trend, VERSION, history, trends};
pub use advice::{
    PrecisionGain, Rival, Valued, descending, high_peak, most, narrower, nondeterministic,
    precision_gains, rivals, shares_of_bandwidth, slow_call, slow_first_call, unsteady,
    without_counts, without_reference,
};
pub use leaderboard::{Contest, contests};
pub use result::KernelResult;

//! The document of two revisions measured in lock-step: `cargo torch-bench compare-branches` writes it, `criterion-report
//! compare` reads it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The value of `schema`.
pub const SCHEMA: &str = "criterion-torch/lockstep";
/// Counts incompatible changes.
pub const VERSION: u64 = 1;

/// Names the port of the program that criterion sends its samples to.
pub const PORT: &str = "CARGO_CRITERION_PORT";

/// Set where an earlier process of the same program has checked and recorded its cases: this one only takes times.
pub const CHECKED: &str = "CRITERION_TORCH_CHECKED";

/// All blocks of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lockstep {
    /// [`SCHEMA`]
    pub schema: String,
    /// [`VERSION`]
    pub version: u64,
    /// The side that is compared with, and the side that is judged.
    pub sides: [LockstepSide; 2],
    /// Relative differences of a time up to this do not matter.
    pub threshold: f64,
    /// Seconds that measuring took.
    pub seconds: f64,
    /// Each case of the selected programs.
    pub cases: Vec<LockstepCase>,
}

/// One revision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LockstepSide {
    /// The name of its results.
    pub name: String,
    /// Its commit; absent for a checkout with changes.
    pub commit: Option<String>,
}

/// One benchmark of criterion's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LockstepCase {
    /// Criterion's id.
    pub full_id: String,
    /// The bench target.
    pub target: String,
    /// Which sides have it.
    pub has: [bool; 2],
    /// In the order in which they were taken.
    pub blocks: Vec<LockstepBlock>,
    /// Index of the first block that confirms a difference; the blocks before it found it.
    pub confirmed_from: Option<usize>,
    /// Whether it was decided within the budget.
    pub is_decided: bool,
}

/// Two pairs of processes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LockstepBlock {
    /// Number of the order in which the functions of both programs lie.
    pub layout: usize,
    /// Nanoseconds of an iteration of A and B: where A measured first, then where B did.
    pub times: [[f64; 2]; 2],
}

/// The file of the comparison of two names, among the records.
pub fn file(records: &Path, [a, b]: [&str; 2]) -> PathBuf {
    records.join("lockstep").join(format!("{a}..{b}.json"))
}

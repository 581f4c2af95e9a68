//! The report model: what was measured, joined, compared and qualified. It formats nothing.

mod circumstances;
mod criterion_files;
mod location;
mod records;
mod report;
mod row;
mod runs;
mod speedup;
mod time;

pub use circumstances::Circumstances;
pub use criterion_files::{CriterionFiles, CriterionResult};
pub use location::Location;
pub use records::{Records, RecordsError, read_runs};
pub use report::{Entry, Report, Selection};
pub use row::{NoTime, Row};
pub use runs::{Missing, Run, Runs};
pub use speedup::{Caution, Comparison, NoSpeedup, Speedup};
pub use time::{Interval, Time};

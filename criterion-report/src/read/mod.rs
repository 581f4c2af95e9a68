//! Criterion's files, records and manifests are read and joined to a report.

pub(crate) mod criterion_files;
pub mod database;
pub(crate) mod exported;
pub(crate) mod file;
pub(crate) mod inputs;
pub(crate) mod joined;
pub(crate) mod line;
pub(crate) mod location;
mod lockstep;
pub(crate) mod profile_files;
pub mod recommendation;
pub(crate) mod records;
pub(crate) mod report;
pub(crate) mod runs;
pub(crate) mod saved;
pub(crate) mod selection;
mod under_name;
pub(crate) mod valid;

pub(crate) use criterion_files::{ResultFolder, ResultFolders, read_unlinked};
pub use exported::{CritcmpBaseline, CritcmpBenchmark, Exported};
pub use inputs::Inputs;
pub use location::Location;
pub use lockstep::Lockstep;
pub(crate) use records::files;
pub use records::{read_runs, record_of_line};
pub use report::Report;
pub(crate) use runs::OLDER;
pub use runs::{Missing, Run, Runs};
pub use selection::Selection;

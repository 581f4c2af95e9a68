//! The report model: what was measured, joined, compared and qualified. It formats nothing.

mod answer;
pub mod calibration;
mod caution;
mod circumstances;
pub mod compare;
mod comparison;
mod criterion_files;
mod criterion_result;
pub mod database;
mod distribution;
pub mod explain;
mod exported;
mod field;
pub(crate) mod file;
mod frontier;
mod fusion;
mod gain;
mod heatmap;
mod inputs;
mod joined;
pub mod kernels;
pub(crate) mod line;
mod location;
mod machines;
mod operators;
mod place;
mod possible;
pub(crate) mod profile_files;
mod read;
mod reason;
mod records;
mod repeated;
mod report;
mod row;
mod runs;
pub(crate) mod saved;
mod selection;
mod speedup;
mod time;
pub mod training;
mod valid;
mod view;

pub use answer::{
    Answer, Answers, Beside, Level, Limits, OtherProduct, Question, Speedups, Unmeasured,
};
pub use caution::Caution;
pub use circumstances::Circumstances;
pub use comparison::{Comparison, Entry};
pub(crate) use criterion_files::{ResultFolder, ResultFolders, read_unlinked};
pub use criterion_result::{
    Benchmark, ConfidenceInterval, CriterionResult, Estimate, Estimates, Samples,
};
pub use distribution::Distribution;
pub use exported::{CritcmpBaseline, CritcmpBenchmark, Exported};
pub(crate) use field::column;
pub use field::{Better, Column, Field, Figure, MEASURES, Part, Unit, Value};
pub use frontier::TradeOff;
pub use fusion::{
    Accounting, Advice, FusionResult, OverControl, PatternAdvice, Point, VariantAdvice,
    other_products, saved, sdpa_dispatch,
};
pub use gain::{Gain, GainSource};
pub use heatmap::{Heatmap, HeatmapKind};
pub use inputs::Inputs;
pub use location::Location;
pub use machines::{Machine, Machines};
pub use operators::{
    Axis, Bandwidths, Ceiling, Efficiency, EfficiencySource, Mean, NoEfficiency, OperatorResult,
    Standing, Summary, upstreams_estimate,
};
pub use place::{Place, fingerprint, machine};
pub use reason::Reason;
pub(crate) use records::files;
pub use records::{read_runs, record_of_line};
pub use repeated::Without;
pub use report::Report;
pub(crate) use row::own_result;
pub use row::{CaseFiles, InRun, NoTime, Row};
pub(crate) use runs::OLDER;
pub use runs::{Missing, Run, Runs};
pub use selection::Selection;
pub use speedup::{Levels, NoSpeedup, RunsOf, Speedup};
pub use time::{Interval, Time};
pub use view::{Key, gather, once};

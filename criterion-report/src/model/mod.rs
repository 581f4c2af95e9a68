//! The report model: rows compared and qualified. It formats nothing.

pub(crate) mod caution;
mod circumstances;
mod comparison;
mod criterion_result;
mod distribution;
pub(crate) mod field;
mod gain;
mod machines;
mod place;
pub(crate) mod possible;
pub mod recommendation;
mod repeated;
mod row;
pub(crate) mod speedup;
mod time;
mod view;

pub use caution::Caution;
pub use circumstances::Circumstances;
pub use comparison::{Comparison, Entry};
pub use criterion_result::{
    Benchmark, ConfidenceInterval, CriterionResult, Estimate, Estimates, Samples,
};
pub use distribution::Distribution;
pub(crate) use field::column;
pub use field::{Better, Column, Field, Figure, MEASURES, Unit, Value, ValuePart};
pub use gain::{Gain, GainSource};
pub use machines::{Machine, Machines};
pub use place::{ExecutionContext, fingerprint, machine};
pub use repeated::RunsLackingValue;
pub use row::{InRun, NoTime, Row};
pub(crate) use row::{OwnResult, own_result};
pub use speedup::{BetweenRuns, NoSpeedup, Speedup, VarianceComponents};
pub use time::{Interval, Time};
pub use view::{Key, gather, once};

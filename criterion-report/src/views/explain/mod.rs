//! Why a case takes its time: its limit on this machine, the parts of its time, and statements of a closed set.
//!
//! A part without an explanation is reported as unexplained, with its size. `docs/book/src/method/explanation.md` has
//! the rules.

mod difference;
mod explainer;
mod explanation;
mod facts;
mod limit;
mod machine;
mod operation;
mod part;
mod rule;
mod slice;
mod split;
mod stated;
mod statement;
pub mod text;

pub use difference::{Change, Changed, Difference};
pub use explainer::Explainer;
pub use explanation::{Explanation, ProfileUsed};
pub use limit::{Bound, StepLimit};
pub use machine::{CalibrationUsed, Machines};
pub use operation::{Library, OperationTime};
pub use part::{Part, PartKind};
pub use rule::Rule;
pub use statement::Statement;
pub(crate) use statement::variant;

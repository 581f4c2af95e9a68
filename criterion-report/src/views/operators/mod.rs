//! Operators: how fast each implementation is, against the others and against the machine.

mod bandwidth;
mod efficiency;
mod result;
mod siblings;
mod summary;
pub mod text;

pub use bandwidth::{Bandwidths, Ceiling};
pub use efficiency::{Efficiency, EfficiencySource, NoEfficiency, upstreams_estimate};
pub use result::OperatorResult;
pub use siblings::Standing;
pub use summary::{Axis, Mean, Summary};

//! What is measured, before anything is measured: configs, shapes, the expansion into cases,
//! their ids, cost formulas, and the schema of what a run leaves on disk.
//!
//! Three programs stand on this crate: the build script of a bench target, the benchmarks
//! themselves, and `criterion-report`. It knows nothing of torch.

mod case;
mod record;
mod settings;
mod shape;
mod words;

pub use case::{Case, CaseId, Group, Plan, Role};
pub use record::{
    Accuracy, Environment, HostFacts, LastSample, Memory, Outcome, Record, RunManifest, Stat,
    StepMemory, TorchFacts,
};
pub use settings::{Profiling, Sampling, Settings, Tolerance, TrainingSettings};
pub use shape::Shape;
pub use words::*;

//! Training: the parts of a step that were measured of a recipe at a shape, brought together, and from
//! which shapes on a recipe gains.

mod additivity;
mod cost;
mod crossover;
mod peak;
mod prediction;
mod result;
mod scaling;
pub mod text;

pub use additivity::Additivity;
pub use cost::{Cost, Load, ModelError, Sample, Terms};
pub use crossover::{Crossover, Field, Gains};
pub use peak::{Rate, upstream_peak};
pub use prediction::{Errors, NoCrossover, Prediction, RecipeCost};
pub use result::TrainingResult;
pub use scaling::scaling_repr;

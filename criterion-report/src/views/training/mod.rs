//! Training: the parts of a step that were measured of a recipe at a shape, brought together, and from
//! which shapes on a recipe gains.

mod cost;
mod crossover;
mod prediction;
mod result;
mod scaling;
pub mod text;

pub use cost::{Cost, Load, ModelError, Sample, Terms};
pub use crossover::{Crossover, Field, Gains};
pub use prediction::{NoCrossover, Prediction, RecipeCost};
pub use result::{Additivity, Rate, TrainingResult, upstream_peak};
pub use scaling::scaling_repr;

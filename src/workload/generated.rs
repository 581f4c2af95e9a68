//! Items for the code that the build script generates from kernels, recipes and models. Not for authors.

pub use plan::Case;
use plan::Work;

pub use super::Workload;
use super::kernel;
pub use crate::in_precision;
pub use crate::kernel::Site;
pub use crate::kernel::generated::{
    Built, Entry, Fields, Function, built, function, read, required, show,
};
pub use crate::models::Architecture;
pub use crate::recipes::{Own, Scheme, number};
pub use crate::refusal::Refusal;
use crate::{models, recipes};

/// Has the package's own recipes and models known, before anything asks for one.
pub fn register(recipes: &'static [Own<dyn Scheme>], models: &'static [Own<dyn Architecture>]) {
    recipes::register(recipes);
    models::register(models);
}

/// Prepares a case; one of a kernel is of one of these files.
pub fn prepare(entries: &[Entry], case: &Case) -> Result<Box<dyn Workload>, Refusal> {
    if !matches!(case.work, Work::Kernel(_)) {
        return super::prepare(case);
    }
    super::preflight(case)?;
    Ok(Box::new(kernel::of_author(entries, case)?))
}

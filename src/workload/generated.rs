//! Items for the code that the build script generates from kernels. Not for authors.

pub use plan::Case;
use plan::Work;

pub use super::Workload;
use super::kernel;
pub use crate::in_precision;
pub use crate::kernel::Site;
pub use crate::kernel::generated::{
    Built, Entry, Fields, Function, built, function, read, required, show,
};
pub use crate::refusal::Refusal;

/// Prepares a case; one of a kernel is of one of these files.
pub fn prepare(entries: &[Entry], case: &Case) -> Result<Box<dyn Workload>, Refusal> {
    if !matches!(case.work, Work::Kernel(_)) {
        return super::prepare(case);
    }
    super::preflight(case)?;
    Ok(Box::new(kernel::of_author(entries, case)?))
}

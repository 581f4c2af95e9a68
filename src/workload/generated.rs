//! Items for the code that the build script generates from kernels, recipes and models. Not for users.

use std::path::Path;
use std::process::ExitCode;

pub use plan::Case;
use plan::Work;

pub use super::Workload;
use super::kernel;
pub use crate::in_precision;
pub use crate::kernel::KernelContext;
pub use crate::kernel::generated::{
    Entry, Fields, Function, Problem, UserKernel, function, kernel, read, required, show,
};
pub use crate::models::Architecture;
pub use crate::recipes::{Scheme, UserDefinition, number};
pub use crate::refusal::Refusal;
use crate::{models, recipes};

/// Has the package's own recipes and models known, before anything asks for one.
pub fn register(
    recipes: &'static [UserDefinition<dyn Scheme>],
    models: &'static [UserDefinition<dyn Architecture>],
) {
    recipes::register(recipes);
    models::register(models);
}

/// Ends a program that was built before this folder of configs was made. Cargo looks only at what is there.
pub fn outdated(unseen: Option<&str>) -> Option<ExitCode> {
    let folder = unseen.filter(|folder| Path::new(folder).exists())?;
    eprintln!(
        "error: {folder} was made after this program was built, which does not know it; save build.rs again and build"
    );
    Some(ExitCode::from(2))
}

/// Prepares a case; one of a kernel is of one of these files.
pub fn prepare(entries: &[Entry], case: &Case) -> Result<Box<dyn Workload>, Refusal> {
    if !matches!(case.work, Work::Kernel(_)) {
        return super::prepare(case);
    }
    super::preflight(case)?;
    Ok(Box::new(kernel::user_kernel(entries, case)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_was_made_later_ends_the_program() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let configs = folder.path().join("configs").display().to_string();
        assert_eq!([outdated(None), outdated(Some(&configs))], [None, None]);
        std::fs::create_dir(&configs).expect("made");
        assert_eq!(outdated(Some(&configs)), Some(ExitCode::from(2)));
    }
}

//! Items for the code that the build script generates from kernels, recipes and models. Not for users.

use std::path::Path;
use std::process::ExitCode;

use once_cell::sync::OnceCell;

pub use plan::Case;
use plan::{KernelWork, Work};

pub use super::Workload;
use super::kernel;
pub use crate::in_precision;
use crate::inputs::Inputs;
pub use crate::kernel::KernelContext;
use crate::kernel::Step;
pub use crate::kernel::generated::{
    Entry, Fields, Function, Problem, UserKernel, function, kernel, read, required, show,
};
pub use crate::models::Architecture;
pub use crate::recipes::{Scheme, UserDefinition, number};
pub use crate::refusal::Refusal;
use crate::{models, recipes};

/// The files of this program's kernels.
static KERNELS: OnceCell<&[Entry]> = OnceCell::new();

/// Has the package's own recipes, models and kernels known, before anything asks for one.
pub fn register(
    recipes: &'static [UserDefinition<dyn Scheme>],
    models: &'static [UserDefinition<dyn Architecture>],
    kernels: &'static [Entry],
) {
    recipes::register(recipes);
    models::register(models);
    // A second call is one of the same program.
    KERNELS.get_or_init(|| kernels);
}

fn registered() -> &'static [Entry] {
    KERNELS.get().copied().unwrap_or_default()
}

/// The work of a case of a kernel.
pub(crate) fn work(case: &Case) -> Result<&KernelWork, Refusal> {
    kernel::work(case)
}

/// A case's kernel with inputs of this seed. Nothing of the kernel's own code runs.
pub(crate) fn user_kernel(case: &Case, seed: i64) -> Result<UserKernel, Refusal> {
    kernel::with_seed(registered(), case, seed).map(|(_, kernel)| kernel)
}

/// A case's kernel, prepared for other inputs than its own.
pub(crate) fn build(case: &Case, inputs: Inputs) -> Result<Step, Refusal> {
    user_kernel(case, case.settings.seed)?.computation.build(inputs)
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

//! The circumstances of a measurement.

use std::path::{Path, PathBuf};

use once_cell::sync::{Lazy, OnceCell};
use plan::{Allocator, Case, Device, Environment, Quiet, TorchFacts, git};

use super::nvml;
use super::{host, variables};
use crate::native::allocator::Retention;
use crate::native::{self, allocator, cuda, numerics, runtime};
use crate::threads;

static GIT: Lazy<Git> = Lazy::new(Git::read);

/// The environment in which `case` runs now; `quiet` is the score that the run began with, if it
/// took one.
///
/// # Errors
/// When libtorch cannot say what it is: a number without its circumstances is not stored.
pub fn environment(
    case: &Case,
    allocator: &str,
    quiet: Option<Quiet>,
) -> Result<Environment, native::Error> {
    Ok(Environment {
        host: host::host(),
        torch: torch(case)?,
        allocator: allocator.to_owned(),
        git_revision: GIT.revision.clone(),
        git_branch: GIT.branch.clone(),
        git_refusal: GIT.refusal.clone(),
        rustc: env!("CRITERION_TORCH_RUSTC").to_owned(),
        variables: variables::variables(),
        quiet,
    })
}

/// How the record names the allocator that was in force.
pub fn allocator_label(wanted: Allocator, retention: Retention) -> String {
    let settled = match (wanted, retention) {
        (_, Retention::Retained) => "retained",
        (Allocator::System, Retention::System) => "system",
        (Allocator::Retained, Retention::System) => "system (retention is not available here)",
    };
    allocator::replaced_by().unwrap_or(settled).to_owned()
}

/// Warnings if the allocator or the number of threads is not the requested one.
pub fn cautions() -> impl Iterator<Item = String> {
    let replaced = allocator::replaced_by().map(|library| {
        format!("{library} serves `malloc` in place of the system: `allocator` has no effect, and page faults are its own")
    });
    replaced.into_iter().chain(threads::shortfall())
}

fn torch(case: &Case) -> Result<TorchFacts, native::Error> {
    let facts = runtime::facts()?;
    let numerics = numerics::read()?;
    let cuda = cuda::build()?;
    let device = if case.device == Device::Cuda { cuda_facts()? } else { None };
    Ok(TorchFacts {
        libtorch: facts.torch_version,
        tch: ::libtorch::TCH.to_owned(),
        cpu_capability: facts.cpu_capability,
        threads: tch::get_num_threads().unsigned_abs(),
        interop_threads: u32::try_from(tch::get_num_interop_threads()).ok(),
        float32_matmul_precision: numerics.matmul_precision.to_owned(),
        tf32: Some(numerics.tf32_cublas || numerics.tf32_cudnn),
        mkl: mkl(&facts.configuration),
        onednn: onednn(&facts.configuration),
        cuda_devices: cuda.as_ref().and_then(|build| u32::try_from(build.devices).ok()),
        cuda: cuda.map(|build| build.toolkit),
        cuda_device: device.map(|device| device.name.clone()),
        cuda_driver: device.and_then(|device| device.driver.clone()),
    })
}

/// The device that CUDA cases run on.
#[derive(Debug)]
pub struct CudaFacts {
    name: String,
    driver: Option<String>,
}

/// Asks the CUDA device what it is, once: after some errors it answers nothing any more. None where
/// there is no usable one.
pub fn cuda_facts() -> Result<Option<&'static CudaFacts>, native::Error> {
    static FACTS: OnceCell<Option<CudaFacts>> = OnceCell::new();
    let found = FACTS.get_or_try_init(|| {
        if cuda::build()?.is_none_or(|build| build.devices == 0) {
            return Ok(None);
        }
        let driver = nvml::open(0).ok().map(|probe| probe.driver_version().to_owned());
        Ok(Some(CudaFacts { name: cuda::device(0)?.name, driver }))
    })?;
    Ok(found.as_ref())
}

/// MKL's version in the text that libtorch describes its build with. It has had two names.
fn mkl(configuration: &str) -> Option<String> {
    let after = |name: &str| {
        let line = configuration.lines().find_map(|line| line.trim().strip_prefix(name))?;
        Some(line.split([' ', '-']).next()?.to_owned())
    };
    after("- Intel(R) oneAPI Math Kernel Library Version ")
        .or_else(|| after("- Intel(R) Math Kernel Library Version "))
}

/// oneDNN's version there, under the name that it had first.
fn onednn(configuration: &str) -> Option<String> {
    let name = "- Intel(R) MKL-DNN v";
    let line = configuration.lines().find_map(|line| line.trim().strip_prefix(name))?;
    Some(line.split(' ').next()?.to_owned())
}

/// The variable by which the runner of a bundle names the revision.
const BUNDLED: &str = "CRITERION_TORCH_REVISION";

/// The working tree of the benchmark's own package.
#[derive(Debug, Default, PartialEq)]
struct Git {
    /// The commit, and `-dirty` when tracked files differ from it, other than documents: nothing of
    /// them is measured, and published results are among them.
    revision: Option<String>,
    branch: Option<String>,
    /// Why there is no revision although there is a repository, or why git does not say.
    refusal: Option<String>,
}

impl Git {
    /// The revision that a bundle was made of, as there is no repository; else that of the package's folder as cargo
    /// names it, else of the executable's folder; never of the current directory, which may be another repository.
    fn read() -> Self {
        if let Ok(revision) = std::env::var(BUNDLED) {
            return Self { revision: Some(revision), ..Self::default() };
        }
        let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let beside = || Some(std::env::current_exe().ok()?.parent()?.to_owned());
        package.or_else(beside).map_or_else(Self::default, |folder| Self::new(&folder))
    }

    fn new(folder: &Path) -> Self {
        let (revision, refusal) = match git::revision(folder) {
            Ok(revision) => (Some(revision), None),
            Err(git::Error::Failed { why, .. }) if why.contains("not a git repository") => {
                (None, None)
            }
            Err(git::Error::Failed { why, .. }) => {
                (None, Some(why.split_whitespace().collect::<Vec<_>>().join(" ")))
            }
            Err(error) => (None, Some(error.to_string())),
        };
        // Fails where a commit is checked out and no branch.
        let branch = git::ask(folder, &["symbolic-ref", "--short", "-q", "HEAD"]).ok().flatten();
        Self { revision, branch, refusal }
    }
}

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;

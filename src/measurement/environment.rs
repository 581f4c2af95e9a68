//! The circumstances of a measurement.

use std::path::PathBuf;
use std::process::Command;

use once_cell::sync::Lazy;
use plan::{Allocator, Case, Device, Environment, HostFacts, TorchFacts};

use crate::native::allocator::Retention;
use crate::native::{self, cuda, numerics, runtime};

/// tch's version; a test holds it to the lock file.
const TCH: &str = "0.24.0";

static HOST: Lazy<HostFacts> = Lazy::new(host);
static GIT: Lazy<Option<String>> = Lazy::new(git_revision);

/// The environment in which `case` runs now.
///
/// # Errors
/// When libtorch cannot say what it is: a number without its circumstances is not stored.
pub fn environment(case: &Case, allocator: &str) -> Result<Environment, native::Error> {
    Ok(Environment {
        host: HOST.clone(),
        torch: torch(case)?,
        allocator: allocator.to_owned(),
        git_revision: GIT.clone(),
        rustc: env!("CRITERION_TORCH_RUSTC").to_owned(),
        variables: std::collections::BTreeMap::new(),
        quiet: None,
    })
}

/// How the record names the allocator that was in force.
pub fn allocator_label(wanted: Allocator, retention: Retention) -> &'static str {
    match (wanted, retention) {
        (_, Retention::Retained) => "retained",
        (Allocator::System, Retention::System) => "system",
        (Allocator::Retained, Retention::System) => "system (retention is not available here)",
    }
}

fn torch(case: &Case) -> Result<TorchFacts, native::Error> {
    let facts = runtime::facts()?;
    let cuda = cuda::build()?;
    let usable = cuda.as_ref().is_some_and(|build| build.devices > 0);
    let cuda_device = match case.device {
        Device::Cuda if usable => Some(cuda::device(0)?.name),
        _ => None,
    };
    Ok(TorchFacts {
        libtorch: facts.torch_version,
        tch: TCH.to_owned(),
        cpu_capability: facts.cpu_capability,
        threads: u32::try_from(facts.threads).unwrap_or(u32::MAX),
        float32_matmul_precision: numerics::read()?.matmul_precision.as_str().to_owned(),
        cuda: cuda.map(|build| build.toolkit),
        cuda_device,
        mkl: None,
        onednn: None,
        interop_threads: None,
        tf32: None,
        cuda_driver: None,
    })
}

fn host() -> HostFacts {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.split_once(':').map(|(_, value)| value.trim().to_owned())
    };
    let kibibytes = |value: String| value.trim_end_matches("kB").trim().parse::<u64>().ok();
    let unknown = || "unknown".to_owned();
    HostFacts {
        hostname: one_line(&read("/proc/sys/kernel/hostname")).unwrap_or_else(unknown),
        os: format!(
            "{} {}",
            std::env::consts::OS,
            one_line(&read("/proc/sys/kernel/osrelease")).unwrap_or_else(unknown)
        ),
        cpu_model: field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(unknown),
        cpus: std::thread::available_parallelism()
            .map_or(0, |cpus| u32::try_from(cpus.get()).unwrap_or(u32::MAX)),
        memory_bytes: field(&read("/proc/meminfo"), "MemTotal")
            .and_then(kibibytes)
            .map_or(0, |kibibytes| kibibytes * 1024),
        affinity: None,
        numa_nodes: None,
        governor: None,
        turbo: None,
        huge_pages: None,
        page_fault_ns: None,
    }
}

fn one_line(text: &str) -> Option<String> {
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}

/// The revision of the benchmark's own package: where cargo says it is, else where the executable
/// lies; never the current directory's, which may be another repository. The commit, and `-dirty` when tracked files differ from it.
fn git_revision() -> Option<String> {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let folder = package.or_else(|| Some(std::env::current_exe().ok()?.parent()?.to_owned()))?;
    let git = |args: &[&str]| {
        let output = Command::new("git").current_dir(&folder).args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let dirty = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(if dirty.is_empty() { commit } else { format!("{commit}-dirty") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_tch_is_the_one_in_the_lock_file() {
        let lock = include_str!("../../Cargo.lock");
        assert!(lock.contains(&format!("name = \"tch\"\nversion = \"{TCH}\"")));
    }
}

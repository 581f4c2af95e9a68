//! The circumstances of a measurement.

use std::process::Command;

use once_cell::sync::Lazy;
use plan::{Allocator, Case, Device, Environment, HostFacts, TorchFacts};

use crate::native::runtime;

/// tch's version; a test holds it to the lock file.
const TCH: &str = "0.24.0";

static HOST: Lazy<HostFacts> = Lazy::new(host);
static GIT: Lazy<Option<String>> = Lazy::new(git_revision);

/// The environment in which `case` runs now.
pub fn environment(case: &Case, allocator: &str) -> Environment {
    Environment {
        host: HOST.clone(),
        torch: torch(case),
        allocator: allocator.to_owned(),
        git_revision: GIT.clone(),
        rustc: env!("CRITERION_TORCH_RUSTC").to_owned(),
    }
}

/// How the record names the allocator that was really in force. Retention cannot be undone in a
/// process, so a `system` case after a `retained` one runs retained, and says so.
pub fn allocator_label(wanted: Allocator, retained: bool) -> &'static str {
    match (wanted, retained) {
        (Allocator::System, false) => "system",
        (Allocator::System, true) => "retained (asked for system after a retained case)",
        (Allocator::Retained, true) => "retained",
        (Allocator::Retained, false) => "system (retention is not available here)",
    }
}

fn torch(case: &Case) -> TorchFacts {
    let cuda_device = match case.device {
        Device::Cuda => runtime::cuda_device_name(0),
        _ => None,
    };
    TorchFacts {
        libtorch: runtime::torch_version(),
        tch: TCH.to_owned(),
        cpu_capability: runtime::cpu_capability(),
        threads: u32::try_from(tch::get_num_threads()).unwrap_or(0),
        float32_matmul_precision: runtime::float32_matmul_precision(),
        cuda: runtime::cuda_version(),
        cuda_device,
    }
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
    }
}

fn one_line(text: &str) -> Option<String> {
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}

/// `git describe` without tags: the commit, and `-dirty` when tracked files differ from it.
fn git_revision() -> Option<String> {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let dirty = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(if dirty.is_empty() { commit } else { format!("{commit}-dirty") })
}

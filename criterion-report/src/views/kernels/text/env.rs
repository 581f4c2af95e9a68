//! `env.json`: where and of what the results are.

use plan::{Environment, Record};
use serde::Serialize;

use crate::model::machine;
use crate::order::Sorted as _;
use crate::read::Report;
use crate::render::object::object;
use crate::views::kernels::{KernelResult, SCHEMA, VERSION};

/// The circumstances of the latest result, under upstream's names first. Unrecorded values are
/// null.
pub struct Env<'r, 'a> {
    pub report: &'a Report,
    pub results: &'r [KernelResult<'a>],
}

struct Cuda<'a> {
    latest: &'a Environment,
    records: &'a [&'a Record],
}

object! {
    Env<'_, '_> => |it| [
        records = it.results.iter().filter_map(KernelResult::record).collect::<Vec<_>>();
        latest = latest(it.results);
        environment = latest.map(|record| &*record.environment);
        host = environment.map(|environment| &environment.host);
        torch = environment.map(|environment| &environment.torch);
        // `Linux 6.8.0`: the system, and the release of its kernel.
        os = host.map(|host| host.os.split_once(' ').unwrap_or((&host.os, "")));
    ] {
        "git": environment.and_then(Git::of),
        "os": os.map(|(os, _)| os),
        "os_version": host.and_then(|host| host.os_release.as_ref()),
        "kernel": os.map(|(_, kernel)| kernel).filter(|kernel| !kernel.is_empty()),
        "architecture": host.and_then(|host| host.arch.as_ref()),
        "processor": host.map(|host| &host.cpu_model),
        "cores": host.map(|host| host.cpus),
        "python_version": None::<&str>,
        "numpy_version": None::<&str>,
        "cuda": environment.map(|latest| Cuda { latest, records: &records }),
        "schema": SCHEMA,
        "version": VERSION,
        "host_fingerprint": latest.map(machine),
        "hostname": host.map(|host| &host.hostname),
        "memory_bytes": host.map(|host| host.memory_bytes),
        "governor": host.and_then(|host| host.governor.as_ref()),
        "turbo": host.and_then(|host| host.turbo),
        "affinity": host.and_then(|host| host.affinity.as_ref()),
        "numa_nodes": host.and_then(|host| host.numa_nodes),
        "huge_pages": host.and_then(|host| host.huge_pages.as_ref()),
        "caches": host.map(|host| &*host.caches).unwrap_or_default(),
        "torch": torch.map(|torch| &torch.libtorch),
        "libtorch": torch.map(|torch| match &torch.cuda {
            Some(cuda) => format!("CUDA {cuda}"),
            None => "CPU".to_owned(),
        }),
        "tch": torch.map(|torch| &torch.tch),
        "cpu_capability": torch.map(|torch| &torch.cpu_capability),
        "mkl": torch.and_then(|torch| torch.mkl.as_ref()),
        "onednn": torch.and_then(|torch| torch.onednn.as_ref()),
        "float32_matmul_precision": torch.map(|torch| &torch.float32_matmul_precision),
        "tf32": torch.and_then(|torch| torch.tf32),
        "rustc": environment.map(|environment| &environment.rustc),
        "threads": records.iter().map(|it| it.environment.torch.threads).sorted_set(),
        "allocators": records.iter().map(|it| &it.environment.allocator).sorted_set(),
        "clock_mhz": Clock::new(&records),
        "quiet": environment.and_then(|environment| environment.quiet.as_ref()),
        "variables": environment.map(|it| it.variables.clone()).unwrap_or_default(),
        "checks": it.report.checks,
        "warnings": it.report.run_warnings,
        "environments": it.report.circumstances.len(),
    }

    Cuda<'_> => |it| [
        torch = it.records.iter().map(|record| &record.environment.torch);
        // Only a case that ran on a device shows that there is one; a libtorch without CUDA has none.
        with_device = torch.clone().find(|torch| torch.cuda_device.is_some());
        version = it.latest.torch.cuda.as_ref();
    ] {
        "available": with_device.map(|_| true).or(version.is_none().then_some(false)),
        "version": version,
        "device_count": it.latest.torch.cuda_devices,
        "device_name": with_device.and_then(|torch| torch.cuda_device.as_ref()),
        "driver": with_device.and_then(|torch| torch.cuda_driver.as_ref()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Git<'a> {
    pub commit: &'a str,
    pub branch: Option<&'a str>,
    pub dirty: bool,
}

impl<'a> Git<'a> {
    pub fn of(environment: &'a Environment) -> Option<Self> {
        let revision = environment.git_revision.as_deref()?;
        let clean = revision.strip_suffix("-dirty");
        let branch = environment.git_branch.as_deref();
        Some(Self { commit: clean.unwrap_or(revision), branch, dirty: clean.is_some() })
    }
}

/// Lowest and highest reading between criterion's samples, over all cases.
#[derive(Serialize)]
struct Clock {
    min: f64,
    max: f64,
}

impl Clock {
    fn new(records: &[&Record]) -> Option<Self> {
        let conditions = records.iter().filter_map(|record| record.measures.conditions.as_ref());
        let clocks = conditions.filter_map(|conditions| conditions.clock_mhz);
        clocks
            .map(|clock| Self { min: clock.min, max: clock.max })
            .reduce(|a, b| Self { min: a.min.min(b.min), max: a.max.max(b.max) })
    }
}

/// The record that was written last.
pub fn latest<'a>(results: &[KernelResult<'a>]) -> Option<&'a Record> {
    results.iter().max_by_key(|result| result.recency())?.record()
}

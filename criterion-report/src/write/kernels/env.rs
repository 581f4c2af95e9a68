//! `env.json`: where and of what the results are.

use std::collections::{BTreeMap, BTreeSet};

use plan::{Cache, Check, Environment, Quiet, Record};
use serde::Serialize;

use crate::model::kernels::{KernelResult, SCHEMA, VERSION};
use crate::model::{Report, machine};

/// The circumstances of the latest result, under upstream's names first. What is not recorded is
/// null.
#[derive(Serialize)]
pub struct Env<'a> {
    git: Option<Git<'a>>,
    os: Option<&'a str>,
    os_version: Option<&'a str>,
    kernel: Option<&'a str>,
    architecture: Option<&'a str>,
    processor: Option<&'a str>,
    cores: Option<u32>,
    python_version: Option<&'a str>,
    numpy_version: Option<&'a str>,
    cuda: Option<Cuda<'a>>,
    schema: &'static str,
    version: u32,
    host_fingerprint: Option<String>,
    hostname: Option<&'a str>,
    memory_bytes: Option<u64>,
    governor: Option<&'a str>,
    turbo: Option<bool>,
    affinity: Option<&'a str>,
    numa_nodes: Option<u32>,
    huge_pages: Option<&'a str>,
    caches: &'a [Cache],
    torch: Option<&'a str>,
    libtorch: Option<String>,
    tch: Option<&'a str>,
    cpu_capability: Option<&'a str>,
    mkl: Option<&'a str>,
    onednn: Option<&'a str>,
    float32_matmul_precision: Option<&'a str>,
    tf32: Option<bool>,
    rustc: Option<&'a str>,
    threads: BTreeSet<u32>,
    allocators: BTreeSet<&'a str>,
    clock_mhz: Option<Clock>,
    quiet: Option<&'a Quiet>,
    variables: BTreeMap<&'a str, &'a str>,
    checks: &'a [Check],
    warnings: &'a [String],
    environments: usize,
}

/// A revision, and the branch where one is checked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Git<'a> {
    pub commit: &'a str,
    pub branch: Option<&'a str>,
    pub dirty: bool,
}

impl<'a> Git<'a> {
    /// The revision of an environment.
    pub fn of(environment: &'a Environment) -> Option<Self> {
        let revision = environment.git_revision.as_deref()?;
        let clean = revision.strip_suffix("-dirty");
        let branch = environment.git_branch.as_deref();
        Some(Self { commit: clean.unwrap_or(revision), branch, dirty: clean.is_some() })
    }
}

#[derive(Serialize)]
struct Cuda<'a> {
    available: Option<bool>,
    version: Option<&'a str>,
    device_count: Option<u32>,
    device_name: Option<&'a str>,
    driver: Option<&'a str>,
}

impl<'a> Cuda<'a> {
    /// Only a case that ran on a device shows that there is one; a libtorch without CUDA has none.
    fn of(latest: &'a Environment, records: &[&'a Record]) -> Self {
        let torch = records.iter().map(|record| &record.environment.torch);
        let with_device = torch.clone().find(|torch| torch.cuda_device.is_some());
        let version = latest.torch.cuda.as_deref();
        let available = match (with_device, version) {
            (Some(_), _) => Some(true),
            (None, None) => Some(false),
            (None, Some(_)) => None,
        };
        Self {
            available,
            version,
            device_count: latest.torch.cuda_devices,
            device_name: with_device.and_then(|torch| torch.cuda_device.as_deref()),
            driver: with_device.and_then(|torch| torch.cuda_driver.as_deref()),
        }
    }
}

/// Lowest and highest reading between criterion's samples, over all cases.
#[derive(Serialize)]
struct Clock {
    min: f64,
    max: f64,
}

impl Clock {
    fn of(records: &[&Record]) -> Option<Self> {
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

impl<'a> Env<'a> {
    /// The environment of the latest result.
    pub fn of(report: &'a Report, results: &[KernelResult<'a>]) -> Self {
        let records: Vec<&Record> = results.iter().filter_map(KernelResult::record).collect();
        let latest = latest(results);
        let environment = latest.map(|record| &record.environment);
        let host = environment.map(|environment| &environment.host);
        let torch = environment.map(|environment| &environment.torch);
        // `Linux 6.8.0`: the system, and the release of its kernel.
        let os = host.map(|host| host.os.split_once(' ').unwrap_or((&host.os, "")));
        let variables = environment.map(|environment| &environment.variables);
        Self {
            git: environment.and_then(Git::of),
            os: os.map(|(os, _)| os),
            os_version: host.and_then(|host| host.os_release.as_deref()),
            kernel: os.map(|(_, kernel)| kernel).filter(|kernel| !kernel.is_empty()),
            architecture: host.and_then(|host| host.arch.as_deref()),
            processor: host.map(|host| host.cpu_model.as_str()),
            cores: host.map(|host| host.cpus),
            python_version: None,
            numpy_version: None,
            cuda: environment.map(|environment| Cuda::of(environment, &records)),
            schema: SCHEMA,
            version: VERSION,
            host_fingerprint: latest.map(machine),
            hostname: host.map(|host| host.hostname.as_str()),
            memory_bytes: host.map(|host| host.memory_bytes),
            governor: host.and_then(|host| host.governor.as_deref()),
            turbo: host.and_then(|host| host.turbo),
            affinity: host.and_then(|host| host.affinity.as_deref()),
            numa_nodes: host.and_then(|host| host.numa_nodes),
            huge_pages: host.and_then(|host| host.huge_pages.as_deref()),
            caches: host.map_or(&[], |host| &host.caches),
            torch: torch.map(|torch| torch.libtorch.as_str()),
            libtorch: torch.map(|torch| match &torch.cuda {
                Some(cuda) => format!("CUDA {cuda}"),
                None => "CPU".to_owned(),
            }),
            tch: torch.map(|torch| torch.tch.as_str()),
            cpu_capability: torch.map(|torch| torch.cpu_capability.as_str()),
            mkl: torch.and_then(|torch| torch.mkl.as_deref()),
            onednn: torch.and_then(|torch| torch.onednn.as_deref()),
            float32_matmul_precision: torch.map(|torch| torch.float32_matmul_precision.as_str()),
            tf32: torch.and_then(|torch| torch.tf32),
            rustc: environment.map(|environment| environment.rustc.as_str()),
            threads: records.iter().map(|record| record.environment.torch.threads).collect(),
            allocators: records.iter().map(|it| it.environment.allocator.as_str()).collect(),
            clock_mhz: Clock::of(&records),
            quiet: environment.and_then(|environment| environment.quiet.as_ref()),
            variables: variables
                .into_iter()
                .flatten()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect(),
            checks: &report.checks,
            warnings: &report.run_warnings,
            environments: report.circumstances.len(),
        }
    }
}

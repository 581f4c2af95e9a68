//! `env.json`: where and of what the results are.

use std::collections::{BTreeMap, BTreeSet};

use plan::{Cache, Check, Environment, Quiet, Record};
use serde::Serialize;

use crate::model::machine;
use crate::order::Sorted as _;
use crate::read::Report;
use crate::render::object::document;
use crate::views::kernels::{KernelResult, SCHEMA, VERSION};

document! {
    /// The circumstances of the latest result, under upstream's names first. Unrecorded values are
    /// null.
    pub struct Env<'a> = of(report: &'a Report, results: &[KernelResult<'a>]) [
        records = results.iter().filter_map(KernelResult::record).collect::<Vec<_>>();
        latest = latest(results);
        environment = latest.map(|record| &*record.environment);
        host = environment.map(|environment| &environment.host);
        torch = environment.map(|environment| &environment.torch);
        // `Linux 6.8.0`: the system, and the release of its kernel.
        os = host.map(|host| host.os.split_once(' ').unwrap_or((&host.os, "")));
    ] {
        git: Option<Git<'a>> = environment.and_then(Git::of),
        os: Option<&'a str> = os.map(|(os, _)| os),
        os_version: Option<&'a str> = host.and_then(|host| host.os_release.as_deref()),
        kernel: Option<&'a str> = os.map(|(_, kernel)| kernel).filter(|kernel| !kernel.is_empty()),
        architecture: Option<&'a str> = host.and_then(|host| host.arch.as_deref()),
        processor: Option<&'a str> = host.map(|host| &*host.cpu_model),
        cores: Option<u32> = host.map(|host| host.cpus),
        python_version: Option<&'static str> = None,
        numpy_version: Option<&'static str> = None,
        cuda: Option<Cuda<'a>> = environment.map(|latest| Cuda::of(latest, &records)),
        schema: &'static str = SCHEMA,
        version: u32 = VERSION,
        host_fingerprint: Option<String> = latest.map(machine),
        hostname: Option<&'a str> = host.map(|host| &*host.hostname),
        memory_bytes: Option<u64> = host.map(|host| host.memory_bytes),
        governor: Option<&'a str> = host.and_then(|host| host.governor.as_deref()),
        turbo: Option<bool> = host.and_then(|host| host.turbo),
        affinity: Option<&'a str> = host.and_then(|host| host.affinity.as_deref()),
        numa_nodes: Option<u32> = host.and_then(|host| host.numa_nodes),
        huge_pages: Option<&'a str> = host.and_then(|host| host.huge_pages.as_deref()),
        caches: &'a [Cache] = host.map(|host| &*host.caches).unwrap_or_default(),
        torch: Option<&'a str> = torch.map(|torch| &*torch.libtorch),
        libtorch: Option<String> = torch.map(|torch| match &torch.cuda {
            Some(cuda) => format!("CUDA {cuda}"),
            None => "CPU".to_owned(),
        }),
        tch: Option<&'a str> = torch.map(|torch| &*torch.tch),
        cpu_capability: Option<&'a str> = torch.map(|torch| &*torch.cpu_capability),
        mkl: Option<&'a str> = torch.and_then(|torch| torch.mkl.as_deref()),
        onednn: Option<&'a str> = torch.and_then(|torch| torch.onednn.as_deref()),
        float32_matmul_precision: Option<&'a str> =
            torch.map(|torch| &*torch.float32_matmul_precision),
        tf32: Option<bool> = torch.and_then(|torch| torch.tf32),
        rustc: Option<&'a str> = environment.map(|environment| &*environment.rustc),
        threads: BTreeSet<u32> = records.iter().map(|it| it.environment.torch.threads).sorted_set(),
        allocators: BTreeSet<&'a str> =
            records.iter().map(|it| &*it.environment.allocator).sorted_set(),
        clock_mhz: Option<Clock> = Clock::new(&records),
        quiet: Option<&'a Quiet> = environment.and_then(|environment| environment.quiet.as_ref()),
        variables: BTreeMap<String, String> =
            environment.map(|it| it.variables.clone()).unwrap_or_default(),
        checks: &'a [Check] = &report.checks,
        warnings: &'a [String] = &report.run_warnings,
        environments: usize = report.circumstances.len(),
    }

    struct Cuda<'a> = of(latest: &'a Environment, records: &[&'a Record]) [
        torch = records.iter().map(|record| &record.environment.torch);
        // Only a case that ran on a device shows that there is one; a libtorch without CUDA has none.
        with_device = torch.clone().find(|torch| torch.cuda_device.is_some());
        version = latest.torch.cuda.as_deref();
    ] {
        available: Option<bool> = with_device.map(|_| true).or(version.is_none().then_some(false)),
        version: Option<&'a str> = version,
        device_count: Option<u32> = latest.torch.cuda_devices,
        device_name: Option<&'a str> = with_device.and_then(|torch| torch.cuda_device.as_deref()),
        driver: Option<&'a str> = with_device.and_then(|torch| torch.cuda_driver.as_deref()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

//! `kernels`: the tree of reports of QuASIM's benchmarking tools, with right meanings.

mod entry;
mod markdown;
mod regressions;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};
use plan::{Cache, Check, Environment, KernelTolerances, KernelWork, Quiet, Record, SkipCondition};
use serde::Serialize;
use serde_json::Value;

use crate::model::{machine, once};
use crate::order::Sorted as _;
use crate::read::Report;
use crate::render::object::document;
use crate::render::{json_text, units};
use crate::views::kernels::{KernelResult, Point, SCHEMA, SUMMARY, Trend, VERSION};
use entry::{Item, KernelFile};
pub use markdown::judged::{judged, unjudged};
use regressions::Changes;
pub use regressions::Regressions;

#[derive(Debug, Clone, Copy)]
pub struct Document<'a> {
    pub report: &'a Report,
    pub results: &'a [KernelResult<'a>],
    /// The differences from an earlier run, if one was given.
    pub regressions: Option<Regressions<'a>>,
    /// How times went, where a history was given.
    pub trends: Option<&'a [Trend]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its path inside the tree, with `/`.
    pub path: String,
    pub text: String,
}

/// Files that there are only with a comparison.
pub const OF_A_COMPARISON: [&str; 2] = ["regressions.md", "regressions.json"];
pub const MANIFEST: &str = "kernel_manifest.json";

/// The path of a kernel's own file.
pub fn path_of(kernel: &str) -> Result<String> {
    let plain = |char: char| char.is_alphanumeric() || "-_.+".contains(char);
    if kernel.is_empty() || kernel.starts_with('.') || !kernel.chars().all(plain) {
        bail!("a record has a kernel named `{kernel}`, which is no name of a file");
    }
    Ok(format!("kernels/{kernel}.json"))
}

/// All files, the summary for people last.
pub fn tree(document: &Document<'_>) -> Result<Vec<File>> {
    let Document { report, results, regressions, .. } = *document;
    let mut files = Vec::new();
    let mut add = |path: &str, text: String| files.push(File { path: path.to_owned(), text });
    add("env.json", json_text::document(&Env::of(report, results))?);
    let kernels = by_kernel(results);
    add(
        MANIFEST,
        json_text::document(&kernels.values().map(|cases| Kernel::of(cases)).collect::<Vec<_>>())?,
    );
    for (kernel, cases) in kernels {
        add(&path_of(kernel)?, json_text::document(&KernelFile::of(&cases))?);
    }
    add(SUMMARY, json_text::document(&Summary::of(report, results))?);
    if let Some(regressions) = regressions {
        let [markdown, json] = OF_A_COMPARISON;
        add(json, json_text::document(&Changes::of(&regressions))?);
        add(markdown, regressions.file());
    }
    add("summary.md", markdown::summary(document));
    Ok(files)
}

document! {
    /// All cases in one file, to be kept and compared with. The single calls are in
    /// `kernels/<name>.json` alone.
    pub struct Summary<'a> = of(report: &'a Report, results: &'a [KernelResult<'a>]) [
        outcomes = outcomes(results);
        ended = |status: &str| outcomes.get(status).copied().unwrap_or(0);
    ] {
        schema: &'static str = SCHEMA,
        version: u32 = VERSION,
        timestamp: Option<String> = timestamp(results),
        commit: Option<&'a str> =
            latest(results).and_then(|it| Some(Git::of(&it.environment)?.commit)),
        total_kernels: usize = by_kernel(results).len(),
        total_cases: usize = results.len(),
        successful: usize = ended("measured"),
        failed: usize = ended("failed"),
        skipped: usize = ended("skipped"),
        unsupported: usize = ended("unsupported"),
        oom: usize = ended("oom"),
        timeout: usize = ended("timeout"),
        tested: usize = ended("tested"),
        missing: usize = ended(Point::MISSING),
        environment: Env<'a> = Env::of(report, results),
        results: Vec<Item<'a>> = results.iter().map(|it| Item::of(it, false)).collect(),
    }
}

/// When the last of the cases ended.
pub fn timestamp(results: &[KernelResult<'_>]) -> Option<String> {
    latest(results).map(|record| units::rfc3339(record.timestamp))
}

/// How many of these ended in each way.
pub fn outcomes<'r>(
    results: impl IntoIterator<Item = &'r KernelResult<'r>>,
) -> BTreeMap<&'r str, usize> {
    let mut outcomes = BTreeMap::new();
    for result in results {
        *outcomes.entry(&*result.point.status).or_insert(0) += 1;
    }
    outcomes
}

/// The cases of each kernel, in the order of the names.
pub fn by_kernel<'r, 'a>(
    results: &'r [KernelResult<'a>],
) -> BTreeMap<&'a str, Vec<&'r KernelResult<'a>>> {
    let mut kernels: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for result in results {
        kernels.entry(result.kernel).or_default().push(result);
    }
    kernels
}

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

document! {
    /// A kernel, by all its cases.
    pub struct Kernel<'a> = of(cases: &[&'a KernelResult<'a>]) [
        works = cases.iter().filter_map(|case| case.work()).collect::<Vec<_>>();
        facts = cases.iter().filter_map(|case| case.record()?.kernel.as_ref());
        implementations = implementations(cases);
        baseline = implementations.get(KernelWork::BASELINE).copied().flatten();
        // The widest first.
        precisions = cases.iter().filter_map(|case| case.precision).sorted_set();
        metadata = works.iter().flat_map(|work| &work.metadata);
    ] {
        name: &'a str = cases[0].kernel,
        path: Option<&'a str> = baseline.map(|work| &*work.file),
        backends: BTreeSet<&'a str> = cases.iter().map(|case| case.backend).sorted_set(),
        precisions: Vec<&'static str> = precisions.iter().map(|it| it.precision()).collect(),
        implementations: Vec<Implementation<'a>> =
            implementations.iter().map(|(name, work)| Implementation::of(name, *work)).collect(),
        /// Null where no case ran.
        has_reference: Option<bool> =
            facts.map(|facts| facts.has_reference).reduce(|one, other| one || other),
        problem_sizes: Vec<&'a BTreeMap<String, Value>> = problem_sizes(cases),
        tolerances: Vec<KernelTolerances> = once(works.iter().map(|work| work.tolerances)),
        skip_conditions: Vec<&'a SkipCondition> =
            once(works.iter().flat_map(|work| &work.skip_conditions)),
        metadata: BTreeMap<&'a String, &'a Value> = metadata.sorted_map(),
        outcomes: BTreeMap<&'a str, usize> = outcomes(cases.iter().copied()),
    }

    /// Its name, and the code that it runs, if known.
    struct Implementation<'a> = of(name: &'a str, work: Option<&'a KernelWork>) {
        name: &'a str = name,
        path: Option<&'a str> = work.map(|work| &*work.file),
        pytorch: Option<bool> = work.map(|work| work.uses_torch),
        baseline: bool = name == KernelWork::BASELINE,
    }
}

/// The implementations of the cases by name, with the code that they run.
fn implementations<'a>(cases: &[&KernelResult<'a>]) -> BTreeMap<&'a str, Option<&'a KernelWork>> {
    let mut all = BTreeMap::new();
    for case in cases {
        let work = all.entry(case.implementation).or_insert(None);
        *work = work.or(case.work());
    }
    all
}

/// In the order of the cases. Cases that never ran know only a part of the size that cases that ran
/// know.
fn problem_sizes<'a>(cases: &[&KernelResult<'a>]) -> Vec<&'a BTreeMap<String, Value>> {
    let covers = |whole: &BTreeMap<String, Value>, part: &BTreeMap<String, Value>| {
        part.iter().all(|(field, value)| whole.get(field) == Some(value))
    };
    let mut sizes: Vec<&BTreeMap<String, Value>> = Vec::new();
    for size in cases.iter().filter_map(|case| case.problem_size()) {
        if !sizes.iter().any(|known| covers(known, size)) {
            sizes.retain(|known| !covers(size, known));
            sizes.push(size);
        }
    }
    sizes
}

//! `kernels`: the tree of reports of QuASIM's benchmarking tools, with right meanings.

mod entry;
mod env;
mod manifest;
mod markdown;
mod regressions;

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use crate::read::Report;
use crate::render::json_text;
use crate::render::object::document;
use crate::render::units;
use crate::views::kernels::{KernelResult, Point, SCHEMA, SUMMARY, Trend, VERSION};
use entry::{Item, KernelFile};
use env::{Env, Git, latest};
use manifest::Kernel;

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

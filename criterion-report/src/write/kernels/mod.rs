//! `kernels`: the tree of reports of QuASIM's benchmarking tools, with right meanings.

mod entry;
mod env;
mod markdown;

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use crate::model::Report;
use crate::model::kernels::{Changes, KernelResult, SCHEMA, SUMMARY, Trend, VERSION, manifest};
use crate::object::object;
use crate::units;
use entry::Entry;
use env::{Env, Git, latest};

pub use markdown::numbers;

#[derive(Debug, Clone, Copy)]
pub struct Document<'a> {
    pub report: &'a Report,
    pub results: &'a [KernelResult<'a>],
    /// The differences from an earlier run, if one was given.
    pub changes: Option<&'a Changes>,
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
    let Document { report, results, changes, .. } = *document;
    let mut files = Vec::new();
    let mut add = |path: &str, text: String| files.push(File { path: path.to_owned(), text });
    add("env.json", pretty(&Env { report, results })?);
    add(MANIFEST, pretty(&manifest(results))?);
    let mut by_kernel: BTreeMap<&str, Vec<Entry<'_, '_>>> = BTreeMap::new();
    for result in results {
        by_kernel.entry(result.kernel).or_default().push(Entry { result, raw: true });
    }
    for (kernel, entries) in by_kernel {
        add(&path_of(kernel)?, pretty(&entries)?);
    }
    add(SUMMARY, pretty(document)?);
    if let Some(changes) = changes {
        let [markdown, json] = OF_A_COMPARISON;
        add(json, pretty(changes)?);
        add(markdown, markdown::regressions(changes));
    }
    add("summary.md", markdown::summary(document));
    Ok(files)
}

fn pretty(value: &impl serde::Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

// `summary.json`: all cases in one file, to be kept and compared with.
// The single calls are in `kernels/<name>.json` alone.
object! {
    Document<'_> => |it| [
        outcomes = outcomes(it.results);
        ended = |status: &str| outcomes.get(status).copied().unwrap_or(0);
    ] {
        "schema": SCHEMA,
        "version": VERSION,
        "timestamp": timestamp(it.results),
        "commit": latest(it.results).and_then(|it| Some(Git::of(&it.environment)?.commit)),
        "total_kernels": kernels(it.results).len(),
        "total_cases": it.results.len(),
        "successful": ended("measured"),
        "failed": ended("failed"),
        "skipped": ended("skipped"),
        "unsupported": ended("unsupported"),
        "oom": ended("oom"),
        "timeout": ended("timeout"),
        "tested": ended("tested"),
        "missing": ended(KernelResult::MISSING),
        "environment": Env { report: it.report, results: it.results },
        "results":
            it.results.iter().map(|result| Entry { result, raw: false }).collect::<Vec<_>>(),
    }
}

/// When the last of the cases ended.
pub fn timestamp(results: &[KernelResult<'_>]) -> Option<String> {
    latest(results).map(|record| units::rfc3339(record.timestamp))
}

pub fn outcomes(results: &[KernelResult<'_>]) -> BTreeMap<&'static str, usize> {
    let mut outcomes = BTreeMap::new();
    for result in results {
        *outcomes.entry(result.status).or_insert(0) += 1;
    }
    outcomes
}

pub fn kernels<'a>(results: &[KernelResult<'a>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = results.iter().map(|result| result.kernel).collect();
    names.sort_unstable();
    names.dedup();
    names
}

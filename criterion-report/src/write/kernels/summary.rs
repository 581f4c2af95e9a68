//! `summary.json`: all cases in one file, to be kept and compared with.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Document;
use super::entry::Entry;
use super::env::{Env, Git, latest};
use crate::model::kernels::{KernelResult, SCHEMA, VERSION};
use crate::units;

#[derive(Serialize)]
struct Summary<'a> {
    schema: &'static str,
    version: u32,
    timestamp: Option<String>,
    commit: Option<&'a str>,
    total_kernels: usize,
    total_cases: usize,
    successful: usize,
    failed: usize,
    skipped: usize,
    unsupported: usize,
    oom: usize,
    timeout: usize,
    tested: usize,
    missing: usize,
    environment: Env<'a>,
    results: Vec<Entry<'a>>,
}

/// When the last of the cases ended.
pub fn timestamp(results: &[KernelResult<'_>]) -> Option<String> {
    latest(results).map(|record| units::rfc3339(record.timestamp))
}

/// Cases by status.
pub fn outcomes(results: &[KernelResult<'_>]) -> BTreeMap<&'static str, usize> {
    let mut outcomes = BTreeMap::new();
    for result in results {
        *outcomes.entry(result.status).or_insert(0) += 1;
    }
    outcomes
}

/// Names of the kernels, each once.
pub fn kernels<'a>(results: &[KernelResult<'a>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = results.iter().map(|result| result.kernel).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The file. The single calls are in `kernels/<name>.json` alone.
pub fn json(document: &Document<'_>) -> serde_json::Result<String> {
    let Document { report, results, .. } = *document;
    let outcomes = outcomes(results);
    let ended = |status: &str| outcomes.get(status).copied().unwrap_or(0);
    let git = latest(results).and_then(|record| Git::of(&record.environment));
    let summary = Summary {
        schema: SCHEMA,
        version: VERSION,
        timestamp: timestamp(results),
        commit: git.map(|git| git.commit),
        total_kernels: kernels(results).len(),
        total_cases: results.len(),
        successful: ended("measured"),
        failed: ended("failed"),
        skipped: ended("skipped"),
        unsupported: ended("unsupported"),
        oom: ended("oom"),
        timeout: ended("timeout"),
        tested: ended("tested"),
        missing: ended(KernelResult::MISSING),
        environment: Env::of(report, results),
        results: results.iter().map(|result| Entry::of(result, false)).collect(),
    };
    Ok(serde_json::to_string_pretty(&summary)? + "\n")
}

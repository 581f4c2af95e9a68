//! `summary.json`: all cases in one file, to be kept and compared with.

use std::collections::BTreeMap;

use super::Document;
use super::entry::Entry;
use super::env::{Env, Git, latest};
use crate::model::kernels::{KernelResult, SCHEMA, VERSION};
use crate::object::object;
use crate::units;

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

//! `kernel_manifest.json`: what kernels there are.

use std::collections::BTreeMap;

use plan::{KernelTolerances, SkipCondition};
use serde::Serialize;
use serde_json::Value;

use crate::model::kernels::{KernelEntry, KernelResult, manifest};

#[derive(Serialize)]
struct Entry<'a> {
    name: &'a str,
    path: Option<&'a str>,
    backends: Vec<&'a str>,
    precisions: Vec<&'static str>,
    implementations: Vec<Implementation<'a>>,
    has_reference: Option<bool>,
    problem_sizes: &'a [&'a BTreeMap<String, Value>],
    tolerances: &'a [KernelTolerances],
    skip_conditions: &'a [&'a SkipCondition],
    metadata: &'a BTreeMap<&'a str, &'a Value>,
    outcomes: &'a BTreeMap<&'static str, usize>,
}

#[derive(Serialize)]
struct Implementation<'a> {
    name: &'a str,
    path: Option<&'a str>,
    baseline: bool,
}

impl<'a> Entry<'a> {
    fn of(kernel: &'a KernelEntry<'a>) -> Self {
        let baseline = plan::KernelWork::BASELINE;
        let implementations = kernel.implementations.iter();
        Self {
            name: kernel.name,
            path: kernel.implementations.get(baseline).copied().flatten(),
            backends: kernel.backends.iter().copied().collect(),
            precisions: kernel.precisions.iter().map(|it| it.precision()).collect(),
            implementations: implementations
                .map(|(&name, &path)| Implementation { name, path, baseline: name == baseline })
                .collect(),
            has_reference: kernel.has_reference,
            problem_sizes: &kernel.problem_sizes,
            tolerances: &kernel.tolerances,
            skip_conditions: &kernel.skip_conditions,
            metadata: &kernel.metadata,
            outcomes: &kernel.outcomes,
        }
    }
}

/// The file.
pub fn json(results: &[KernelResult<'_>]) -> serde_json::Result<String> {
    let kernels = manifest(results);
    let entries: Vec<Entry<'_>> = kernels.iter().map(Entry::of).collect();
    Ok(serde_json::to_string_pretty(&entries)? + "\n")
}

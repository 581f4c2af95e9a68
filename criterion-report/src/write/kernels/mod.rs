//! `kernels`: the tree of reports of QuASIM's benchmarking tools, with right meanings.

mod entry;
mod env;
mod markdown;
mod summary;

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use crate::model::Report;
use crate::model::kernels::{Changes, KernelResult, SUMMARY, Trend, manifest};

pub use markdown::numbers;
pub use summary::{kernels, outcomes, timestamp};

/// Everything that the files are made of.
#[derive(Debug, Clone, Copy)]
pub struct Document<'a> {
    /// What was read.
    pub report: &'a Report,
    /// Its kernels' cases.
    pub results: &'a [KernelResult<'a>],
    /// What differs from another time, where one was asked for.
    pub changes: Option<&'a Changes>,
    /// How times went, where a history was given.
    pub trends: Option<&'a [Trend]>,
}

/// A file of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its path inside the tree, with `/`.
    pub path: String,
    /// All of it.
    pub text: String,
}

/// Files that there are only with a comparison.
pub const OF_A_COMPARISON: [&str; 2] = ["regressions.md", "regressions.json"];
/// What kernels there are.
pub const MANIFEST: &str = "kernel_manifest.json";

/// The path of a kernel's own file.
///
/// # Errors
/// When the name would lead elsewhere: records are files, which anybody may have written.
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
    add("env.json", pretty(&env::Env { report, results })?);
    add(MANIFEST, pretty(&manifest(results))?);
    let mut by_kernel: BTreeMap<&str, Vec<entry::Entry<'_, '_>>> = BTreeMap::new();
    for result in results {
        by_kernel.entry(result.kernel).or_default().push(entry::Entry { result, raw: true });
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

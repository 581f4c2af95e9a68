//! `merge`: the results of several machines as those of one run, and whether they are complete.
//!
//! Records are copied as they stand, byte by byte. Nothing is computed from two machines' times.

mod carry;
mod cases;
mod folder;
mod manifests;
mod output;
mod planned;
mod results;
mod shards;
mod summary;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use regex::Regex;

use cases::MergedCases;
use folder::Folder;
use planned::Plan;
use results::Results;
use shards::Shards;
use summary::MergeSummary;

use crate::visible;

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Folders of results, each with `criterion` and `criterion-torch` in it, such as `target`
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// The plan that has to be complete: what `plan --format json` printed
    #[arg(long, value_name = "FILE")]
    plan: PathBuf,
    /// Merge results of several git revisions, versions of libtorch or edits of a config, too
    #[arg(long)]
    mixed: bool,
}

/// The result of merging.
#[derive(Debug)]
pub struct Merged {
    /// A summary of the merged and the skipped records.
    pub text: String,
    /// The planned cases without a record and the measured ones without a time, with the reasons.
    pub incomplete: Vec<String>,
    /// Files and lines that should be results and cannot be used.
    pub unreadable: Vec<String>,
    /// Remarks that are not defects.
    pub warnings: Vec<String>,
}

impl Options {
    /// Merges what was saved under `baseline` into the folder `output`. Only planned cases that match the
    /// filter are merged.
    pub fn run(&self, baseline: &str, filter: Option<&Regex>, output: &Path) -> Result<Merged> {
        let plan = Plan::read(&self.plan, filter)?;
        let folder = Folder::new(output, &self.folders)?;
        let (results, mut warnings) = Results::read_all(&self.folders, baseline)?;
        let shards = Shards::from_results(&results);
        let chosen = MergedCases::new(&plan, &results, &shards);
        if !(self.mixed || chosen.mixed.is_empty()) {
            bail!(
                "the results are not of one build and one config: run what differs again, or merge them all the \
                 same with --mixed{}",
                visible::list(&chosen.mixed)
            );
        }
        let said = MergeSummary {
            plan: &plan,
            results: &results,
            shards: &shards,
            chosen: &chosen,
            output,
        };
        let text = said.summary();
        let incomplete: Vec<String> =
            said.missing().into_iter().chain(said.without_time()).collect();
        let whole = format!("{text}{}", incomplete.concat());
        let remarks = folder.write(baseline, &results, &chosen, &whole)?;
        let mut unreadable = remarks.unreadable;
        warnings.extend(remarks.warnings);
        for of_folder in results {
            unreadable.extend(of_folder.unreadable);
            warnings.extend(of_folder.warnings);
        }
        Ok(Merged { text, incomplete, unreadable, warnings })
    }
}

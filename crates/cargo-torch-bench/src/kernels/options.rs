//! The command line of `kernels`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{ArgAction, Args};
use plan::{git, history};

use super::absolute;
use super::configs::Overrides;
use crate::error::{Error, Result};

#[derive(Debug, Default, PartialEq, Eq, Args)]
pub struct Options {
    #[command(flatten)]
    pub overrides: Overrides,
    /// Folder of the report
    #[arg(long, value_name = "DIR", default_value = "reports")]
    pub output_dir: PathBuf,
    /// Keep the results under this name
    #[arg(long, value_name = "NAME")]
    pub save_baseline: Option<OsString>,
    /// Earlier results: baseline name, folder, exported file or branch
    ///
    /// Without saved results of that name, the history of the branch: the latest in its
    /// benchmarks/history that is of this machine.
    ///
    /// Adds regressions.md: slower by 10 %, less accurate by 1e-3, improved, new, missing. For
    /// other thresholds, without measuring again: `cargo criterion-report kernels --help`.
    #[arg(long, value_name = "WHAT")]
    pub compare_to: Option<OsString>,
    /// Folder of earlier summaries, for trends
    #[arg(long, value_name = "DIR")]
    pub history: Option<PathBuf>,
    /// Exit with 1 when there is any of these; all but failure need --compare-to
    // The report's gates stand here so that a typo is found before everything is measured.
    #[arg(
        long,
        value_name = "GATES",
        value_delimiter = ',',
        action = ArgAction::Set,
        value_parser = [ALONE, "regression", "accuracy", "missing"]
    )]
    fail_on: Vec<String>,
    /// Measure for this long in all, e.g. 90s, 10min, 2h
    #[arg(long, value_name = "TIME", value_parser = budget)]
    pub budget: Option<String>,
    /// First print what was found, and what it expands to
    #[arg(long, short)]
    pub verbose: bool,
    /// Only cases whose id matches this regular expression
    ///
    /// Ids are kernels/default/<kernel>/<device>/<implementation>/…; one expression selects several
    /// kernels: '(poisson|saxpy)'.
    pub filter: Option<OsString>,
}

/// The gate that compares with nothing.
const ALONE: &str = "failure";

impl Options {
    /// Refuses what contradicts itself.
    pub fn check(&self) -> Result<()> {
        if self.compare_to.is_some() && self.compare_to == self.save_baseline {
            let name = self.save_baseline.as_deref().unwrap_or_default().display();
            return Err(usage(&format!(
                "this run would replace \"{name}\", with which it is to be compared"
            ))
            .remedy("give --save-baseline and --compare-to different names"));
        }
        let compares = self.fail_on.iter().find(|gate| *gate != ALONE);
        if let (Some(gate), None) = (compares, &self.compare_to) {
            return Err(usage(&format!("--fail-on {gate} compares with something"))
                .remedy("name it with --compare-to"));
        }
        Ok(())
    }

    /// Checks that the results to compare with are there, as the report comes when everything is
    /// measured. The report runs in the root, and asks git there.
    pub fn look(&self, here: &Path, root: &Path, records: &Path) -> Result<()> {
        if let Some(with) = &self.compare_to {
            let path = here.join(with);
            let is_there = || path.exists() || (!is_path(with) && is_recorded(with, records));
            if !is_there() && (is_path(with) || !is_branch(with, root)?) {
                let with = with.display();
                return Err(usage(&format!(
                    "--compare-to {with}: there is neither a file or folder {} nor a baseline of \
                     that name in {}, nor a branch whose commit has a folder {}",
                    path.display(),
                    records.display(),
                    plan::HISTORY
                ))
                .remedy(format!("measure it first, with --save-baseline {with}")));
            }
        }
        match self.history.as_ref().map(|folder| here.join(folder)) {
            Some(folder) if !folder.is_dir() => {
                Err(usage(&format!("--history: there is no folder {}", folder.display())))
            }
            _ => Ok(()),
        }
    }

    /// The arguments of `criterion-report kernels`.
    pub fn report(&self, here: &Path) -> Vec<OsString> {
        let mut arguments: Vec<OsString> =
            ["kernels", "--latest", "--output-dir"].map(OsString::from).into();
        arguments.push(absolute(here, &self.output_dir));
        if let Some(with) = &self.compare_to {
            // A bare word may be a name; the report looks for that first.
            let with = if is_path(with) { absolute(here, Path::new(with)) } else { with.clone() };
            arguments.extend(["--compare-to".into(), with]);
        }
        if let Some(history) = &self.history {
            arguments.extend(["--history".into(), absolute(here, history)]);
        }
        if !self.fail_on.is_empty() {
            arguments.extend(["--fail-on".into(), self.fail_on.join(",").into()]);
        }
        // Else what the run left out is missing in the comparison.
        if let Some(filter) = &self.filter {
            arguments.extend(["--filter".into(), filter.clone()]);
        }
        arguments
    }
}

/// Checks a time as the bench targets do, and passes it on as it was written.
fn budget(text: &str) -> std::result::Result<String, String> {
    plan::flag::duration(text).map(|_| text.to_owned())
}

/// Whether there are records under the name, or under those of its runs, `NAME@1` and so on.
fn is_recorded(name: &OsStr, records: &Path) -> bool {
    let first = [name, OsStr::new("@1")].iter().copied().collect::<OsString>();
    [name, &first].iter().any(|name| records.join(name).is_dir())
}

/// Whether the report will find a history of this branch: in the local git repository, or at `origin`, from which a
/// single-branch clone fetches it.
fn is_branch(name: &OsStr, root: &Path) -> Result<bool> {
    let Some(name) = name.to_str() else { return Ok(false) };
    if !history::may_be_branch(root, name)? {
        return Ok(false);
    }
    if let Some((_, commit)) = history::branch(root, name)? {
        // The report takes the first of them that is there.
        let history = format!("{}/", plan::HISTORY);
        let files = git::git(root, &["ls-tree", "--name-only", &commit, "--", &history])?;
        return Ok(!files.is_empty());
    }
    history::is_at_origin(root, name).map_err(|error| {
        let what = format!("--compare-to {name}: whether origin has that branch is unknown");
        Error::from(error)
            .during(&what)
            .remedy(format!("measure it first, with --save-baseline {name}"))
            .remedy(format!("git fetch origin {name}:refs/remotes/origin/{name}"))
    })
}

/// Whether a word is a path, not a mere name.
fn is_path(word: &OsStr) -> bool {
    Path::new(word).components().nth(1).is_some()
}

fn usage(what: &str) -> Error {
    Error::usage(what).remedy("its options: cargo xtask kernels --help")
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;

//! The folder in which a repository keeps the results of earlier runs, and the branch that has them.

use std::path::Path;

use crate::git::{Error, ask, ask_strictly, is_repository};

/// The folder of earlier `summary.json` files, relative to the root of the workspace.
pub const HISTORY: &str = "benchmarks/history";

/// Whether a folder is in a repository that may have a branch of that name.
///
/// # Errors
/// Errors of git.
pub fn may_be_branch(folder: &Path, name: &str) -> Result<bool, Error> {
    let format = ["check-ref-format", &head(name)];
    Ok(is_repository(folder)? && ask_strictly(folder, &format, 1)?.is_some())
}

/// The full reference of a branch and its commit, the remote one first: CI commits results there, and a local branch may
/// be behind it.
///
/// # Errors
/// Errors of git.
pub fn branch(folder: &Path, name: &str) -> Result<Option<(String, String)>, Error> {
    for reference in [format!("refs/remotes/origin/{name}"), head(name)] {
        if let Some(commit) = commit(folder, &reference)? {
            return Ok(Some((reference, commit)));
        }
    }
    Ok(None)
}

/// The commit that a revision names, if there is one.
///
/// # Errors
/// Errors of git.
pub fn commit(folder: &Path, revision: &str) -> Result<Option<String>, Error> {
    let revision = format!("{revision}^{{commit}}");
    ask(folder, &["rev-parse", "--verify", "--quiet", "--end-of-options", &revision])
}

/// Whether `origin` has the branch, from which a clone of one branch can fetch it.
///
/// # Errors
/// Errors of git, also if `origin` does not answer.
pub fn is_at_origin(folder: &Path, name: &str) -> Result<bool, Error> {
    Ok(ask_strictly(folder, &["config", "--get", "remote.origin.url"], 1)?.is_some()
        && ask_strictly(folder, &["ls-remote", "--exit-code", "origin", &head(name)], 2)?.is_some())
}

fn head(name: &str) -> String {
    format!("refs/heads/{name}")
}

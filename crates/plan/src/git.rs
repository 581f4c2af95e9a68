//! Questions to git about a folder.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Output};

use thiserror::Error;

/// With these a hook says which repository it belongs to; here the folder says so.
const VARIABLES: [&str; 5] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR"];

/// Git gave no answer.
#[derive(Debug, Error)]
pub enum Error {
    /// It did not start.
    #[error("cannot run git: {0}")]
    Start(#[from] io::Error),
    /// It ended with an exit code that is no answer.
    #[error("{asked}: {why}")]
    Failed {
        /// The git command, and its folder.
        asked: String,
        /// Its own words.
        why: String,
    },
}

/// Makes a command ask git about its folder, and not about the repository of a hook that called it.
pub fn unset_variables(command: &mut Command) {
    for name in VARIABLES {
        command.env_remove(name);
    }
}

/// The output of git, which has to succeed, without the end of its last line.
///
/// # Errors
/// [`Error`]
pub fn git<S: AsRef<OsStr>>(folder: &Path, arguments: &[S]) -> Result<String, Error> {
    git_with(folder, arguments, &[])
}

/// [`git`] with variables of its environment.
///
/// # Errors
/// [`Error`]
pub fn git_with<S: AsRef<OsStr>>(
    folder: &Path,
    arguments: &[S],
    variables: &[(&str, &OsStr)],
) -> Result<String, Error> {
    let mut git = command(folder, arguments);
    git.envs(variables.iter().copied());
    succeeded(folder, arguments, &git.output()?)
}

/// The output of git, or none where it ends with the exit code that means no.
///
/// # Errors
/// If it ends with any other code: the question has no answer.
pub fn ask_strictly<S: AsRef<OsStr>>(
    folder: &Path,
    arguments: &[S],
    no: i32,
) -> Result<Option<String>, Error> {
    let output = run(folder, arguments)?;
    if output.status.code() == Some(no) {
        return Ok(None);
    }
    succeeded(folder, arguments, &output).map(Some)
}

/// The output of git, or none where it says no.
///
/// # Errors
/// If it does not start.
pub fn ask<S: AsRef<OsStr>>(folder: &Path, arguments: &[S]) -> Result<Option<String>, Error> {
    let output = run(folder, arguments)?;
    Ok(output.status.success().then(|| printed(&output)))
}

/// The first digits of the commit that is checked out, with `-dirty` if tracked files other than documents differ from it.
///
/// # Errors
/// [`Error`]
pub fn revision(folder: &Path) -> Result<String, Error> {
    let commit = git(folder, &["rev-parse", "--short=12", "HEAD"])?;
    let status = ["status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs", ":!*.md"];
    let changed = git(folder, &status)?;
    Ok(if changed.is_empty() { commit } else { format!("{commit}-dirty") })
}

/// Whether the folder is in a repository.
///
/// # Errors
/// [`Error`]
pub fn is_repository(folder: &Path) -> Result<bool, Error> {
    let arguments = ["rev-parse", "--git-dir"];
    let output = run(folder, &arguments)?;
    if String::from_utf8_lossy(&output.stderr).contains("not a git repository") {
        return Ok(false);
    }
    succeeded(folder, &arguments, &output).map(|_| true)
}

fn succeeded<S: AsRef<OsStr>>(
    folder: &Path,
    arguments: &[S],
    output: &Output,
) -> Result<String, Error> {
    if output.status.success() {
        return Ok(printed(output));
    }
    let words: Vec<_> = arguments.iter().map(|word| word.as_ref().to_string_lossy()).collect();
    let (words, folder, status) = (words.join(" "), folder.display(), output.status);
    Err(Error::Failed {
        asked: format!("git {words} in {folder} failed ({status})"),
        why: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

fn run<S: AsRef<OsStr>>(folder: &Path, arguments: &[S]) -> Result<Output, Error> {
    Ok(command(folder, arguments).output()?)
}

fn command<S: AsRef<OsStr>>(folder: &Path, arguments: &[S]) -> Command {
    let mut git = Command::new("git");
    git.current_dir(folder).args(arguments);
    unset_variables(&mut git);
    // A question of git in the middle of a command would wait for ever where nobody is. One of its sentences
    // is looked for, in English.
    git.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    git
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

//! Questions to git.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

use crate::error::{Error, Result};

/// With these a hook says which repository it belongs to; here the folder says so.
const VARIABLES: [&str; 5] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR"];

pub fn unset_variables(command: &mut Command) {
    for name in VARIABLES {
        command.env_remove(name);
    }
}

/// The output of git, which has to succeed, without the end of its last line.
pub fn git<S: AsRef<OsStr>>(folder: &Path, arguments: &[S]) -> Result<String> {
    succeeded(folder, arguments, &run(folder, arguments)?)
}

/// The output of git, or none where it ends with the exit code that means no.
///
/// # Errors
///
/// If it ends with any other code: the question has no answer.
pub fn ask_strictly<S: AsRef<OsStr>>(
    folder: &Path,
    arguments: &[S],
    no: i32,
) -> Result<Option<String>> {
    let output = run(folder, arguments)?;
    if output.status.code() == Some(no) {
        return Ok(None);
    }
    succeeded(folder, arguments, &output).map(Some)
}

/// Whether the folder is in a repository.
pub fn is_repository(folder: &Path) -> Result<bool> {
    let arguments = ["rev-parse", "--git-dir"];
    let output = run(folder, &arguments)?;
    if String::from_utf8_lossy(&output.stderr).contains("not a git repository") {
        return Ok(false);
    }
    succeeded(folder, &arguments, &output).map(|_| true)
}

fn succeeded<S: AsRef<OsStr>>(folder: &Path, arguments: &[S], output: &Output) -> Result<String> {
    if output.status.success() {
        return Ok(printed(output));
    }
    let words: Vec<_> = arguments.iter().map(|word| word.as_ref().to_string_lossy()).collect();
    Err(Error::new(format!(
        "git {} in {} failed ({}): {}",
        words.join(" "),
        folder.display(),
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    )))
}

/// The output of git, or none where it says no.
pub fn ask<S: AsRef<OsStr>>(folder: &Path, arguments: &[S]) -> Result<Option<String>> {
    let output = run(folder, arguments)?;
    Ok(output.status.success().then(|| printed(&output)))
}

fn run<S: AsRef<OsStr>>(folder: &Path, arguments: &[S]) -> Result<Output> {
    let mut git = Command::new("git");
    git.current_dir(folder).args(arguments);
    unset_variables(&mut git);
    // A question of git in the middle of a command would wait for ever where nobody is. One of its sentences
    // is looked for, in English.
    git.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    git.output().map_err(|error| {
        Error::new(format!("cannot run git: {error}")).remedy("install git, or put it on the PATH")
    })
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

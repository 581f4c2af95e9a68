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
    let output = run(folder, arguments)?;
    if output.status.success() {
        return Ok(printed(&output));
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
    git.output().map_err(|error| {
        Error::new(format!("cannot run git: {error}")).remedy("install git, or put it on the PATH")
    })
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

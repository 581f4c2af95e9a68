//! Blocks of `console`: commands of the report and what they print, run where a fixture lies.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use walkdir::WalkDir;

use crate::Fault;
use crate::common::{Block, root};

#[path = "../../../../criterion-report/tests/common/results.rs"]
#[allow(dead_code, reason = "only copies of fixtures are needed here")]
mod results;

/// The block with what its commands print now.
pub fn run(block: &Block) -> Result<String, Fault> {
    let Some(("fixture", name)) = block.comment.as_ref().map(|(key, name)| (&**key, name)) else {
        return Err("`<!-- fixture: NAME -->` has to stand before it".to_owned());
    };
    let folder = copied(&root().join("criterion-report/tests/fixtures").join(name))?;
    let commands = block.body.lines().filter(|line| line.starts_with("$ "));
    let printed = commands.map(|line| Ok(format!("{line}\n{}", printed(folder.path(), line)?)));
    match printed.collect::<Result<String, Fault>>()? {
        text if text.is_empty() => Err("no line begins with `$ `".to_owned()),
        text => Ok(text),
    }
}

/// A fixture of the report, as if it were a package whose `target` has its results.
fn copied(fixture: &Path) -> Result<TempDir, Fault> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for entry in WalkDir::new(fixture) {
        let entry = entry.map_err(|error| error.to_string())?;
        let to = folder.path().join(entry.path().strip_prefix(fixture).expect("inside"));
        if entry.file_type().is_dir() {
            fs::create_dir_all(to).expect("a folder");
        } else {
            fs::copy(entry.path(), to).expect("copied");
        }
    }
    results::complete(fixture, folder.path());
    symlink(".", folder.path().join("target")).expect("linked");
    Ok(folder)
}

/// Runs the command of a line and returns its output, stderr last.
fn printed(folder: &Path, line: &str) -> Result<String, Fault> {
    let words = shlex::split(&line[2..]).ok_or(format!("`{line}`: a quote is open"))?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (["criterion-report", rest @ ..] | ["cargo", "criterion-report", rest @ ..]) = &words[..]
    else {
        return Err(format!("`{line}` is no command of criterion-report"));
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_documented-report"));
    for name in ["CARGO_TARGET_DIR", "CRITERION_HOME"] {
        command.env_remove(name);
    }
    let output = command.args(rest).current_dir(folder).output().expect("it was built");
    let text = |bytes| String::from_utf8(bytes).map_err(|error| error.to_string());
    Ok(text(output.stdout)? + &text(output.stderr)?)
}

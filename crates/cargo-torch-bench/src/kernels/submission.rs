//! `judge`: the kernels of a submission, measured and judged by the task of somebody else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::{Options as KernelsOptions, run};
use crate::error::{Error, Result};
use crate::files;
use crate::workspace::Workspace;

/// The kernels that are measured, and their config. Not in CARGO_TARGET_DIR: `kernel_paths` begin at the nearest
/// Cargo.toml above.
const FOLDER: &str = "target/torch-bench/judge";

#[derive(Debug, PartialEq, Eq, Args)]
pub struct Options {
    /// Folder of the submission: kernels in Rust, and the CUDA or Triton sources that they name
    pub submission: PathBuf,
    /// Folder of the task: kernel.rs, which has problem size, inputs, reference and the baseline, and bench.yaml
    #[arg(long, value_name = "DIR")]
    pub task: PathBuf,
}

/// Puts task and submission into one folder of kernels, measures and judges them, and prints the table.
pub fn command(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    let here = crate::workspace::current_folder()?;
    let (task, submission) = (here.join(&options.task), here.join(&options.submission));
    let folder = workspace.root().join(FOLDER);
    files::remove_folder(&folder)?;
    let name = files::name(&fs::canonicalize(&task).map_err(|it| Error::io("read", &task, &it))?);
    let kernels = folder.join("kernels").join(&name);
    files::make_folder(&kernels)?;
    copy(&task, &kernels)?;
    if !kernels.join("kernel.rs").is_file() {
        return Err(Error::usage(format!("--task {}: it has no kernel.rs", task.display()))
            .remedy("name the folder of a kernel, as in benches/kernels"));
    }
    if copy(&submission, &kernels)? == 0 {
        return Err(Error::usage(format!("{} is empty", submission.display()))
            .remedy("name the folder of a submission, with a kernel as mine.rs"));
    }
    let config = folder.join("judge.yml");
    let text = format!("benchmark_mode: kernels\njudge: on\nkernel_paths: [{FOLDER}/kernels]\n");
    files::write(&config, text)?;
    run(workspace, &KernelsOptions::default(), Some(&config))
}

/// Copies the files of a folder, and says how many. Nothing that is there is replaced: a submission brings neither the
/// task nor what the task is made of.
fn copy(from: &Path, to: &Path) -> Result<usize> {
    if !from.is_dir() {
        return Err(Error::usage(format!("there is no folder {}", from.display())));
    }
    let files = files::inside(from)?;
    for file in &files {
        let target = to.join(files::name(file));
        let is_file = fs::symlink_metadata(file).is_ok_and(|it| it.is_file());
        if !is_file || target.exists() {
            let why = if is_file { "the task has a file of that name" } else { "it is no file" };
            return Err(Error::usage(format!("{}: {why}", file.display()))
                .remedy("rename it, or leave it out"));
        }
        fs::copy(file, &target).map_err(|error| Error::io("copy", file, &error))?;
    }
    Ok(files.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_submission_brings_no_file_of_the_task() {
        let [task, submission, both] = [(); 3].map(|()| tempfile::tempdir().expect("a folder"));
        let write =
            |folder: &Path, name: &str| fs::write(folder.join(name), name).expect("written");
        write(task.path(), "kernel.rs");
        write(submission.path(), "mine.rs");
        assert_eq!(copy(task.path(), both.path()).expect("copied"), 1);
        assert_eq!(copy(submission.path(), both.path()).expect("copied"), 1);
        write(submission.path(), "kernel.rs");
        fs::remove_file(both.path().join("mine.rs")).expect("removed");
        let refused = copy(submission.path(), both.path()).expect_err("a task of its own");
        assert!(
            refused.what().ends_with("kernel.rs: the task has a file of that name"),
            "{refused}"
        );
        let linked = tempfile::tempdir().expect("a folder");
        std::os::unix::fs::symlink("/etc/passwd", linked.path().join("a.rs")).expect("linked");
        assert!(copy(linked.path(), both.path()).expect_err("a link").what().ends_with("no file"));
    }
}

//! The benchmarks of `bench --repeat`: built once, measured in several runs.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};

use crate::bench_arguments::BenchArguments;
use crate::cargo::{self, not_run};
use crate::error::{Error, Result};
use crate::folder_lock::FolderLock;
use crate::results::HOME;
use plan::git;

#[derive(Debug)]
pub struct Side {
    /// Its runs are kept under this name and their numbers.
    pub name: String,
    /// The folder in which cargo runs.
    pub folder: PathBuf,
    /// Criterion's folder.
    pub home: PathBuf,
}

/// The benchmarks that were built: the path of each, and a hash of what it holds.
#[derive(Debug, PartialEq, Eq)]
pub struct Built(BTreeMap<PathBuf, u64>);

impl Built {
    /// Whether one run starts several.
    pub fn several(&self) -> bool {
        self.0.len() > 1
    }
}

impl Side {
    /// Builds the benchmarks; cargo says on stderr how far it is.
    pub fn build(&self, arguments: &BenchArguments) -> Result<Built> {
        let mut cargo = self.build_command(arguments);
        cargo.stderr(Stdio::inherit());
        let output = run(&mut cargo)?;
        if !output.status.success() {
            return Err(self.failed("could not be built", output.status, &cargo));
        }
        let built = built(&output.stdout)?;
        if built.0.is_empty() {
            return Err(Error::new(format!(
                "no benchmark was built for {}: {}",
                self.name,
                self.line(&cargo)
            )));
        }
        Ok(built)
    }

    /// How many cases a run will measure.
    pub fn cases(&self, arguments: &BenchArguments) -> Result<usize> {
        let mut cargo = self.cargo();
        cargo.args(arguments.list());
        let output = run(&mut cargo)?;
        if !output.status.success() {
            eprint!("{}", String::from_utf8_lossy(&output.stderr));
            return Err(self.failed("could not be listed", output.status, &cargo));
        }
        Ok(cargo::count_listed(&output.stdout))
    }

    /// Checks that the next run will start what was `built`: cargo builds anew what somebody has
    /// changed in the meantime, and a side would be of two sources.
    pub fn unchanged(&self, arguments: &BenchArguments, built: &Built) -> Result<()> {
        let mut cargo = self.build_command(arguments);
        let output = run(&mut cargo)?;
        if !output.status.success() {
            eprint!("{}", String::from_utf8_lossy(&output.stderr));
            return Err(self.failed("can no longer be built", output.status, &cargo));
        }
        if self::built(&output.stdout)? != *built {
            return Err(Error::new(format!(
                "the benchmarks of {} were changed in {} while they were measured",
                self.name,
                self.folder.display()
            ))
            .remedy("run this again, and leave the sources alone until it ends"));
        }
        Ok(())
    }

    /// One run, whose results are kept under `kept_as`. It holds `claim` until it ends.
    pub fn run(
        &self,
        arguments: &BenchArguments,
        kept_as: &str,
        claim: &FolderLock,
    ) -> Result<ExitStatus> {
        let mut cargo = self.cargo();
        cargo.args(arguments.run(kept_as)).stdin(claim.as_stdin()?);
        let status = run_status(&mut cargo)?;
        if !status.success() && status.code() != Some(cargo::CASES_FAILED) {
            return Err(self.failed("could not be measured", status, &cargo));
        }
        Ok(status)
    }

    fn build_command(&self, arguments: &BenchArguments) -> Command {
        let mut cargo = self.cargo();
        cargo.args(["bench", "--no-run", cargo::MESSAGES]);
        cargo.args(&arguments.cargo);
        cargo
    }

    fn cargo(&self) -> Command {
        let mut cargo = cargo::at_home(cargo::in_folder(&self.folder), &self.home);
        // The records name the commit of the folder that they are measured in.
        git::unset_variables(&mut cargo);
        cargo
    }

    fn failed(&self, how: &str, status: ExitStatus, cargo: &Command) -> Error {
        let what = format!("{} {how} ({status}): {}", self.name, self.line(cargo));
        Error::failed(what, cargo::code(status))
    }

    /// The command as it can be repeated by hand.
    fn line(&self, cargo: &Command) -> String {
        let words: Vec<_> = cargo.get_args().map(|word| word.to_string_lossy()).collect();
        let (home, words, folder) = (self.home.display(), words.join(" "), self.folder.display());
        format!("{HOME}={home} cargo {words}, in {folder}")
    }
}

fn run(command: &mut Command) -> Result<Output> {
    command.stdin(Stdio::null()).output().map_err(|error| not_run(command, &error))
}

fn run_status(command: &mut Command) -> Result<ExitStatus> {
    command.status().map_err(|error| not_run(command, &error))
}

fn built(messages: &[u8]) -> Result<Built> {
    let programs = cargo::programs(messages, "bench").into_iter().map(|(_, program)| program);
    programs.map(|path| hash(&path).map(|hash| (path, hash))).collect::<Result<_>>().map(Built)
}

fn hash(path: &Path) -> Result<u64> {
    let bytes = fs::read(path).map_err(|error| Error::io("read", path, &error))?;
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    Ok(hasher.finish())
}

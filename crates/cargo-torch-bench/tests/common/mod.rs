//! A clone, a cache and a python3 of the test's own.

pub mod closed;
#[path = "../../../../tests/common/program.rs"]
mod program;
pub mod repository;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::PROGRAM;

/// The fakes, also where the tests are another package's.
const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../cargo-torch-bench/tests/fixtures");

/// Writes a shell script that can be executed.
pub fn script(path: &Path, body: &str) {
    program::program(path.to_owned(), &format!("#!/bin/sh\n{body}\n"));
}

/// Removed when dropped.
pub struct Scratch {
    root: PathBuf,
}

impl Scratch {
    pub fn new() -> Self {
        // Its name is new, also where a test that was killed left its own.
        let folder = tempfile::Builder::new().prefix("xtask-test-").tempdir();
        let root = folder.expect("make a scratch folder").keep();
        for folder in ["clone/crates/inner", "clone/criterion-report", "bin", "empty", "fake"] {
            fs::create_dir_all(root.join(folder)).expect("make a scratch folder");
        }
        // Resolved, as a process started in it sees it.
        let root = root.canonicalize().expect("resolve the scratch folder");
        for (package, manifest) in [("", "[workspace]\n"), ("criterion-report", "")] {
            let manifest_file = root.join("clone").join(package).join("Cargo.toml");
            fs::write(manifest_file, manifest).expect("write a manifest");
        }
        symlink(Path::new(FIXTURES).join("python3"), root.join("bin/python3"))
            .expect("link the fake python3");
        Self { root }
    }

    /// With libtorch.
    pub fn provisioned() -> Self {
        let scratch = Self::new();
        scratch.run(&["setup", "--cpu"]).assert_fine();
        scratch
    }

    pub fn clone_dir(&self) -> PathBuf {
        self.root.join("clone")
    }

    pub fn link(&self) -> PathBuf {
        self.clone_dir().join(".libtorch")
    }

    /// The folder that the link leads to.
    pub fn linked(&self) -> String {
        fs::read_link(self.link()).expect("read the link").display().to_string()
    }

    pub fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// The CPU build of libtorch in the cache.
    pub fn cpu(&self) -> String {
        self.cache().join("torch-2.11.0-cpu/torch").display().to_string()
    }

    /// A folder without any program in it.
    pub fn empty(&self) -> PathBuf {
        self.root.join("empty")
    }

    /// The fake python3, by its path.
    pub fn python(&self) -> PathBuf {
        self.root.join("bin/python3")
    }

    /// A shell script on the PATH.
    pub fn program(&self, name: &str, body: &str) {
        script(&self.root.join("bin").join(name), &format!("PATH=/usr/bin:/bin\n{body}"));
    }

    pub fn fake(&self, file: &str) -> PathBuf {
        self.root.join("fake").join(file)
    }

    /// Steers the fakes, see fixtures/.
    pub fn set(&self, file: &str, text: &str) {
        fs::write(self.fake(file), text).expect("write a steering file");
    }

    pub fn unset(&self, file: &str) {
        fs::remove_file(self.fake(file)).expect("remove a steering file");
    }

    /// The real binary as cargo's alias runs it, apart from LIBTORCH, which stays unset.
    pub fn xtask(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(arguments)
            .current_dir(self.clone_dir())
            .env("PATH", self.root.join("bin"))
            .env("FAKE", self.root.join("fake"))
            .env("HOME", &self.root)
            .env("CRITERION_TORCH_CACHE", self.cache())
            .env("CARGO", Path::new(FIXTURES).join("cargo"))
            .env_remove("XDG_CACHE_HOME")
            .env_remove("LIBTORCH")
            .env_remove("BENCH_CONFIG")
            .env_remove("CRITERION_HOME")
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("SELF_TEST_PYTHON")
            .env_remove("CRITERION_TORCH_PYTHON")
            .env_remove("CRITERION_TORCH_COMPILED_MB")
            .env_remove("OMP_WAIT_POLICY")
            .stdin(Stdio::null());
        command
    }

    /// Runs it to its end.
    pub fn run(&self, arguments: &[&str]) -> Outcome {
        Outcome::run(self.xtask(arguments))
    }

    /// How often pip was asked to install, and with what.
    pub fn installs(&self) -> Vec<String> {
        lines(&self.fake("calls"))
    }

    /// The command lines that the fake cargo wrote down.
    pub fn log(&self, file: &str) -> Vec<String> {
        lines(&self.fake(file))
    }

    /// The arguments of each run of cargo; all were in the folder of the clone.
    pub fn calls(&self) -> Vec<String> {
        let place = format!("{}: ", self.clone_dir().display());
        self.log("cargo-calls")
            .iter()
            .map(|call| call.strip_prefix(&place).expect("cargo runs in the root").to_owned())
            .collect()
    }

    /// The names in the cache, apart from the lock.
    pub fn cached(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.cache()) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("list the cache").file_name().to_string_lossy().into_owned())
            .filter(|name| name != "setup.lock")
            .collect();
        names.sort();
        names
    }

    /// These names, with `…` in place of the random end of what was begun.
    pub fn finished_and_begun(&self) -> Vec<String> {
        let shown = |name: &String| match name.split_once(".partial-") {
            Some((place, _)) => format!("{place}…"),
            None => name.clone(),
        };
        self.cached().iter().map(shown).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // An orphan of the kill test may still be on its way out of here.
        if let Err(error) = fs::remove_dir_all(&self.root) {
            eprintln!("{} stays: {error}", self.root.display());
        }
    }
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[derive(Debug)]
pub struct Outcome {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    pub fn run(mut command: Command) -> Self {
        Self::from(command.output().expect("run xtask"))
    }

    pub fn assert_fine(&self) -> &Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// Failed with this code, and said all of this.
    pub fn assert_refused(&self, code: i32, said: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        for text in said {
            assert!(self.stderr.contains(text), "\"{text}\" is not in {}", self.stderr);
        }
    }
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("stdout is text"),
            stderr: String::from_utf8(output.stderr).expect("stderr is text"),
        }
    }
}

/// Blocks until it is so. The limit only keeps a broken test from hanging.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(300), "never happened: {what}");
        sleep(Duration::from_millis(5));
    }
}

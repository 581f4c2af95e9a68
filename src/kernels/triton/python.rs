//! A Python that has Triton, and its child processes.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::refusal::Refusal;

/// Where a user says which Python has Triton.
const VARIABLE: &str = "CRITERION_TORCH_PYTHON";

/// The version that compiles: that of torch 2.11. It is part of what a kernel is kept under, so that
/// no Python is asked for what is there.
pub(super) const TRITON: &str = "3.6.0";

const REMEDY: &str = "install triton: pip install triton==3.6.0, or set CRITERION_TORCH_PYTHON to \
    a python that has it";

/// Prints the version; nothing where there is no Triton. It is not imported: that takes longer.
const VERSION: &str = "import importlib.metadata as packages
try:
    print(packages.version('triton'))
except packages.PackageNotFoundError:
    pass";

/// After how long a child is told of, and told of as hanging and killed. A kernel takes a second.
const PATIENCE: Patience =
    Patience { quiet: Duration::from_secs(5), limit: Duration::from_secs(300) };

/// How often a child is looked at.
const STEP: Duration = Duration::from_millis(10);

#[derive(Debug, Clone, Copy)]
struct Patience {
    quiet: Duration,
    limit: Duration,
}

/// A Python that has [`TRITON`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Python {
    program: PathBuf,
}

/// The Python that CRITERION_TORCH_PYTHON names, or python3 on the PATH; asked once.
///
/// # Errors
/// Skipped, with the remedy, where it is not there or has no Triton.
pub(super) fn python() -> Result<&'static Python, Refusal> {
    static FOUND: OnceLock<Result<Python, Refusal>> = OnceLock::new();
    FOUND.get_or_init(|| Python::find(std::env::var_os(VARIABLE))).as_ref().map_err(Clone::clone)
}

impl Python {
    pub fn find(variable: Option<OsString>) -> Result<Self, Refusal> {
        let chosen = variable.filter(|value| !value.is_empty());
        let by = if chosen.is_some() { VARIABLE } else { "the PATH" };
        let program = PathBuf::from(chosen.unwrap_or_else(|| "python3".into()));
        let skipped = |why: String| Refusal::Skipped(format!("{why}; {REMEDY}"));
        let shown = program.display();
        let output =
            Run { program: &program, script: VERSION, what: "asking for Triton's version" }
                .output(b"", PATIENCE)
                .map_err(|error| match error {
                    RunError::Start(error) => skipped(format!("{shown}, of {by}: {error}")),
                    RunError::Failed(text) | RunError::Hung(text) => {
                        skipped(format!("{shown}, of {by}, does not run: {text}"))
                    }
                })?;
        let version = String::from_utf8_lossy(&output).trim().to_owned();
        if version.is_empty() {
            return Err(skipped(format!("{shown}, of {by}, has no Triton")));
        }
        if version != TRITON {
            return Err(skipped(format!("{shown}, of {by}, has Triton {version}")));
        }
        Ok(Self { program })
    }

    /// What the script writes to stdout, given `input` on stdin. Variables that change what Triton
    /// does are taken away.
    ///
    /// # Errors
    /// Failed, with the last lines of stderr. After one that hung all others fail at once.
    pub fn run(&self, script: &str, what: &str, input: &[u8]) -> Result<Vec<u8>, Refusal> {
        static HUNG: OnceLock<String> = OnceLock::new();
        let failed = |text: &str| Refusal::Failed(format!("Triton {TRITON}, {what}: {text}"));
        if let Some(before) = HUNG.get() {
            return Err(failed(before));
        }
        let run = Run { program: &self.program, script, what };
        run.output(input, PATIENCE).map_err(|error| match error {
            RunError::Start(error) => failed(&format!("{}: {error}", self.program.display())),
            RunError::Failed(text) => failed(&text),
            RunError::Hung(text) => {
                HUNG.get_or_init(|| format!("not tried again after {what}: {text}"));
                failed(&text)
            }
        })
    }
}

struct Run<'r> {
    program: &'r Path,
    script: &'r str,
    /// For messages.
    what: &'r str,
}

enum RunError {
    Start(io::Error),
    Failed(String),
    Hung(String),
}

impl Run<'_> {
    fn output(&self, input: &[u8], patience: Patience) -> Result<Vec<u8>, RunError> {
        let mut command = Command::new(self.program);
        command.arg("-c").arg(self.script);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TRITON_") {
                command.env_remove(name);
            }
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(RunError::Start)?;
        let stdout = read(child.stdout.take());
        let stderr = read(child.stderr.take());
        let writer = write(child.stdin.take(), input.to_vec());
        let is_success = self.wait(&mut child, patience)?;
        let io = |error: io::Error| RunError::Failed(error.to_string());
        let (stdout, stderr) = (join(stdout).map_err(io)?, join(stderr).map_err(io)?);
        // A child that fails early may leave its input unread, which is not the error to tell.
        let written = join(writer);
        if !is_success {
            return Err(RunError::Failed(last_lines(&stderr)));
        }
        written.map_err(io)?;
        Ok(stdout)
    }

    /// Whether the child succeeded. It is killed at the limit; what it has started by then ends by
    /// itself, and nobody waits for it.
    fn wait(&self, child: &mut Child, patience: Patience) -> Result<bool, RunError> {
        let mut waited = Duration::ZERO;
        loop {
            if let Some(status) =
                child.try_wait().map_err(|error| RunError::Failed(error.to_string()))?
            {
                return Ok(status.success());
            }
            if waited >= patience.limit {
                let killed = child.kill().and_then(|()| child.wait());
                let how = killed.map_or_else(|it| format!("not killed: {it}"), |_| "killed".into());
                let limit = patience.limit.as_secs();
                return Err(RunError::Hung(format!("no answer in {limit} s, {how}")));
            }
            thread::sleep(STEP);
            waited += STEP;
            if waited == patience.quiet {
                eprintln!("note: still {} with {}", self.what, self.program.display());
            }
        }
    }
}

/// Reads to the end, so that the child never waits for room in a pipe.
fn read(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<io::Result<Vec<u8>>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            pipe.read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    })
}

fn write(pipe: Option<impl Write + Send + 'static>, bytes: Vec<u8>) -> JoinHandle<io::Result<()>> {
    thread::spawn(move || pipe.map_or(Ok(()), |mut pipe| pipe.write_all(&bytes)))
}

fn join<T>(thread: JoinHandle<io::Result<T>>) -> io::Result<T> {
    thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread that served a pipe panicked")))
}

/// The end of what a child had to say: the error itself, and where it arose.
fn last_lines(stderr: &[u8]) -> String {
    const LINES: usize = 12;
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() {
        return "it failed and said nothing".to_owned();
    }
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

#[cfg(test)]
#[path = "python_tests.rs"]
mod tests;

//! A program in a child process, with a time limit.

mod workers;

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub use workers::Workers;

/// How often a child is looked at.
const STEP: Duration = Duration::from_millis(10);

/// Only the end of stderr is kept.
const KEPT: usize = 1 << 16;

/// How long a child may take.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// After this time a note says that the child is still running; none: the caller says so.
    pub quiet: Option<Duration>,
    /// After this time, from its start or its request, the child is killed.
    pub limit: Duration,
}

/// A child that has ended by itself.
#[derive(Debug)]
pub struct Ended {
    /// How it ended.
    pub status: ExitStatus,
    /// All that it wrote to stdout.
    pub stdout: Vec<u8>,
    /// The end of what it wrote to stderr.
    pub stderr: Vec<u8>,
}

/// A program to be run once.
#[derive(Debug, Clone, Copy)]
pub struct Program<'p> {
    /// Anything that takes a program after `-c`.
    pub interpreter: &'p Path,
    /// Its text.
    pub script: &'p str,
    /// The task, as messages name it.
    pub what: &'p str,
    /// With its child process.
    pub patience: Patience,
}

/// Why a program gave no output.
#[derive(Debug)]
pub enum RunError {
    /// The interpreter cannot be started.
    Start(io::Error),
    /// The last lines of its stderr, or how it ended where it said nothing.
    Failed(String),
    /// It was killed at the time limit.
    Hung(String),
}

impl Program<'_> {
    /// The program's stdout, given `input` on stdin. `prepare` may change variables of
    /// its environment. Nothing that it has started outlives it, and it does not outlive this
    /// process.
    ///
    /// # Errors
    /// When it does not succeed, within the limit.
    pub fn output(
        &self,
        input: &[u8],
        prepare: impl FnOnce(&mut Command),
    ) -> Result<Vec<u8>, RunError> {
        let mut command = Command::new(self.interpreter);
        command.arg("-c").arg(self.script);
        prepare(&mut command);
        let Ended { status, stdout, stderr } = run(command, input, self.what, self.patience)?;
        if !status.success() {
            return Err(RunError::Failed(failure(status, &stderr)));
        }
        Ok(stdout)
    }
}

/// Runs `command` to its end, given `input` on stdin. Nothing that it has started outlives it, and
/// it does not outlive this process. `what` it does is for messages.
///
/// # Errors
/// When it cannot be started, or does not end within the limit. How it ended is no error.
pub fn run(
    mut command: Command,
    input: &[u8],
    what: &str,
    patience: Patience,
) -> Result<Ended, RunError> {
    let mut process = Process::start(&mut command).map_err(RunError::Start)?;
    let stdout = read(process.0.stdout.take(), usize::MAX);
    let stderr = read(process.0.stderr.take(), KEPT);
    let writer = write(process.0.stdin.take(), input.to_vec());
    let status = process.end(patience, || note(what, command.get_program()))?;
    let io = |error: io::Error| RunError::Failed(error.to_string());
    let (stdout, stderr) = (join(stdout).map_err(io)?, join(stderr).map_err(io)?);
    let written = join(writer);
    // A child that fails early may leave its input unread, which is not the error to tell.
    if status.success() {
        written.map_err(io)?;
    }
    Ok(Ended { status, stdout, stderr })
}

/// A child process in a group of its own, which ends with all that it has started.
#[derive(Debug)]
struct Process(Child);

impl Process {
    /// Its pipes are for the caller to take.
    fn start(command: &mut Command) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0);
        end_with_this_process(command);
        command.spawn().map(Self)
    }

    /// Waits until it has ended by itself; at the limit it is killed.
    fn end(mut self, patience: Patience, note: impl Fn()) -> Result<ExitStatus, RunError> {
        wait(patience, note, || {
            let ended = has_ended(&self.0)?;
            if !ended {
                thread::sleep(STEP);
            }
            Ok(ended.then_some(()))
        })?;
        self.reap().map_err(|error| RunError::Failed(error.to_string()))
    }

    fn reap(&mut self) -> io::Result<ExitStatus> {
        // Before the child is reaped: until then its number is nobody else's.
        kill_group(&self.0);
        self.0.wait()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            drop(self.reap());
        }
    }
}

/// Looks for something until it is there. Each look may take a [`STEP`].
fn wait<T>(
    patience: Patience,
    note: impl Fn(),
    mut look: impl FnMut() -> io::Result<Option<T>>,
) -> Result<T, RunError> {
    let start = Instant::now();
    let Patience { mut quiet, limit } = patience;
    loop {
        if let Some(found) = look().map_err(|error| RunError::Failed(error.to_string()))? {
            return Ok(found);
        }
        if start.elapsed() >= limit {
            let limit = limit.as_secs_f64();
            return Err(RunError::Hung(format!("no answer in {limit} s, killed")));
        }
        if quiet.take_if(|quiet| start.elapsed() >= *quiet).is_some() {
            note();
        }
    }
}

fn note(what: &str, program: &OsStr) {
    crate::note(format_args!("still {what} with {}", program.display()));
}

/// Takes variables away that begin with one of these.
pub fn without_variables(command: &mut Command, prefixes: &[&str]) {
    for (name, _) in std::env::vars_os() {
        if prefixes.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
}

/// Has the kernel kill the child when the thread that starts it ends, which waits for it: when this
/// process ends, in whatever way. Processes that the child itself has started end by themselves.
#[cfg(target_os = "linux")]
pub fn end_with_this_process(command: &mut Command) {
    let parent = std::process::id();
    let before_exec = move || {
        // SAFETY: takes numbers only, and may be called between fork and exec.
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // It may have ended before the call.
        if std::os::unix::process::parent_id() != parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        Ok(())
    };
    // SAFETY: the closure makes two system calls and allocates nothing.
    unsafe { command.pre_exec(before_exec) };
}

/// Other systems have no such call: there a child may run on to its own end.
#[cfg(not(target_os = "linux"))]
pub fn end_with_this_process(_: &mut Command) {}

/// Whether the child has ended; it is not reaped.
fn has_ended(child: &Child) -> io::Result<bool> {
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    let mut found = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: `found` is writable.
    let status = unsafe { libc::waitid(libc::P_PID, child.id(), found.as_mut_ptr(), flags) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroes are a value of it, and so is what the call has written.
    let found = unsafe { found.assume_init() };
    // SAFETY: the field that waitid writes; zero where no child has ended.
    Ok(unsafe { found.si_pid() } != 0)
}

/// Kills what is left of the child's group.
fn kill_group(child: &Child) {
    if let Ok(group) = i32::try_from(child.id()) {
        // SAFETY: takes numbers only. That there is no process left is no error here.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
}

/// Reads to the end, so that the child never waits for room in a pipe, and keeps the last bytes: at
/// least `kept` of them.
fn read(pipe: Option<impl Read + Send + 'static>, kept: usize) -> JoinHandle<io::Result<Vec<u8>>> {
    thread::spawn(move || {
        let Some(mut pipe) = pipe else { return Ok(Vec::new()) };
        let (mut bytes, mut chunk) = (Vec::new(), [0; 1 << 13]);
        loop {
            match pipe.read(&mut chunk)? {
                0 => return Ok(bytes),
                read => bytes.extend_from_slice(&chunk[..read]),
            }
            if bytes.len() / 2 > kept {
                bytes.drain(..bytes.len() - kept);
            }
        }
    })
}

fn write(pipe: Option<impl Write + Send + 'static>, bytes: Vec<u8>) -> JoinHandle<io::Result<()>> {
    thread::spawn(move || pipe.map_or(Ok(()), |mut pipe| pipe.write_all(&bytes)))
}

fn join<T>(thread: JoinHandle<io::Result<T>>) -> io::Result<T> {
    thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread that served a pipe panicked")))
}

/// Why a child has failed: its last words, if any.
fn failure(status: ExitStatus, stderr: &[u8]) -> String {
    match (last_lines(stderr), status.signal()) {
        (Some(said), None) => said,
        // It had no time to say that it ends.
        (Some(said), Some(_)) => format!("{status} after:\n{said}"),
        (None, _) => format!("{status}, said nothing"),
    }
}

/// The end of what a child had to say, if anything: the error itself, and where it arose.
fn last_lines(stderr: &[u8]) -> Option<String> {
    const LINES: usize = 12;
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    (!lines.is_empty()).then(|| lines[lines.len().saturating_sub(LINES)..].join("\n"))
}

#[cfg(test)]
#[path = "child_tests.rs"]
mod tests;

//! A program in a child process, with a time limit.

use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often a child is looked at.
const STEP: Duration = Duration::from_millis(10);

/// Only the end of stderr is kept.
const KEPT: usize = 1 << 16;

/// How long a child may take.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// After this time a note says that the child is still running; none: the caller says so.
    pub quiet: Option<Duration>,
    /// After this time, from its start, the child is killed.
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
            let said = last_lines(&stderr);
            return Err(RunError::Failed(
                said.unwrap_or_else(|| format!("{status}, said nothing")),
            ));
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
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A group of its own, so that it ends with all that it has started.
    command.process_group(0);
    end_with_this_process(&mut command);
    let mut child = command.spawn().map_err(RunError::Start)?;
    let stdout = read(child.stdout.take(), usize::MAX);
    let stderr = read(child.stderr.take(), KEPT);
    let writer = write(child.stdin.take(), input.to_vec());
    let ended = wait(&child, patience, || {
        eprintln!("note: still {what} with {}", command.get_program().display());
    });
    // Before the child is reaped: until then its number is nobody else's.
    kill_group(&child);
    let io = |error: io::Error| RunError::Failed(error.to_string());
    let status = child.wait().map_err(io)?;
    ended?;
    let (stdout, stderr) = (join(stdout).map_err(io)?, join(stderr).map_err(io)?);
    let written = join(writer);
    // A child that fails early may leave its input unread, which is not the error to tell.
    if status.success() {
        written.map_err(io)?;
    }
    Ok(Ended { status, stdout, stderr })
}

/// Waits until the child has ended.
fn wait(child: &Child, patience: Patience, note: impl Fn()) -> Result<(), RunError> {
    let start = Instant::now();
    let Patience { mut quiet, limit } = patience;
    while !has_ended(child).map_err(|error| RunError::Failed(error.to_string()))? {
        if start.elapsed() >= limit {
            let limit = limit.as_secs_f64();
            return Err(RunError::Hung(format!("no answer in {limit} s, killed")));
        }
        thread::sleep(STEP);
        if quiet.take_if(|quiet| start.elapsed() >= *quiet).is_some() {
            note();
        }
    }
    Ok(())
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
fn end_with_this_process(command: &mut Command) {
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
fn end_with_this_process(_: &mut Command) {}

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

//! The process that forks one for each kernel, before there is any thread.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;

use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};
use plan::Plan;
use serde::{Deserialize, Serialize};

use super::memory::{Request, SharedMemory};
use super::{child, draws};

/// A word of the zygote, one per line.
#[derive(Debug, Serialize, Deserialize)]
enum Word {
    Started { pid: i32 },
    Ended(End),
}

/// How the process of a kernel ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum End {
    Exit { code: i32 },
    Signal { name: String },
    Error { text: String },
}

/// Forks for each request until there is nobody to ask.
///
/// # Errors
/// When the judge cannot be talked to.
pub fn serve(stream: UnixStream, memory: SharedMemory, plan: &Plan) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(|error| error.to_string())?;
    silence().map_err(text)?;
    let mut requests = BufReader::new(stream.try_clone().map_err(text)?);
    let mut out = stream;
    let mut line = String::new();
    loop {
        line.clear();
        if requests.read_line(&mut line).map_err(text)? == 0 {
            return Ok(());
        }
        let request: Request = serde_json::from_str(&line).map_err(|error| error.to_string())?;
        // SAFETY: this process has one thread, and has never had others.
        match unsafe { fork() }.map_err(|error| error.to_string())? {
            ForkResult::Child => {
                drop((requests, out));
                let found = plan.cases().find(|case| case.full_id() == request.id);
                let served = found.map(|case| {
                    let case = draws::resized(case, request.problem_size.clone());
                    child::serve(memory, &request, &case)
                });
                std::process::exit(i32::from(!matches!(served, Some(Ok(())))));
            }
            ForkResult::Parent { child } => {
                say(&mut out, &Word::Started { pid: child.as_raw() }).map_err(text)?;
                let end = match waitpid(child, None) {
                    Ok(WaitStatus::Exited(_, code)) => End::Exit { code },
                    Ok(WaitStatus::Signaled(_, signal, _)) => {
                        End::Signal { name: signal.to_string() }
                    }
                    other => End::Error { text: format!("{other:?}") },
                };
                say(&mut out, &Word::Ended(end)).map_err(text)?;
            }
        }
    }
}

/// Writes a word as a line of JSON.
pub fn say(out: &mut UnixStream, word: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(word)?;
    line.push(b'\n');
    out.write_all(&line)
}

/// Has nothing of a kernel printed twice: its own process has printed it.
fn silence() -> std::io::Result<()> {
    let nowhere = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
    for stream in [libc::STDOUT_FILENO, libc::STDERR_FILENO] {
        // SAFETY: both are open, and nobody else uses the number of a standard stream.
        if unsafe { libc::dup2(nowhere.as_raw_fd(), stream) } < 0 {
            return Err(std::io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Between two looks.
const PAUSE: std::time::Duration = std::time::Duration::from_micros(100);

/// The judge's end.
#[derive(Debug)]
pub struct Zygote {
    stream: UnixStream,
    /// Bytes of words that are not whole yet.
    read: Vec<u8>,
    /// The process of the kernel, until it is known to have ended.
    running: Option<Pid>,
}

impl Zygote {
    pub fn new(stream: UnixStream) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { stream, read: Vec::new(), running: None })
    }

    /// Starts the process of a kernel.
    pub fn start(&mut self, request: &Request) -> Result<Pid, String> {
        say(&mut self.stream, request).map_err(|error| format!("no process starts: {error}"))?;
        match self.wait()? {
            Word::Started { pid } => {
                self.running = Some(Pid::from_raw(pid));
                Ok(Pid::from_raw(pid))
            }
            Word::Ended(end) => Err(format!("its process ended before it started: {end:?}")),
        }
    }

    /// How the process ended; none while it runs.
    pub fn ended(&mut self) -> Result<Option<End>, String> {
        match self.word()? {
            Some(Word::Ended(end)) => {
                self.running = None;
                Ok(Some(end))
            }
            Some(word) => Err(format!("an unexpected word: {word:?}")),
            None => Ok(None),
        }
    }

    /// Ends the process, if it has not ended.
    pub fn end(&mut self) -> Result<(), String> {
        let Some(pid) = self.running else { return Ok(()) };
        if self.ended()?.is_some() {
            return Ok(());
        }
        kill(pid, Signal::SIGKILL)
            .map_err(|error| format!("its process cannot be ended: {error}"))?;
        while self.ended()?.is_none() {
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn wait(&mut self) -> Result<Word, String> {
        loop {
            if let Some(word) = self.word()? {
                return Ok(word);
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn word(&mut self) -> Result<Option<Word>, String> {
        let mut bytes = [0; 1024];
        match self.stream.read(&mut bytes) {
            Ok(0) => return Err("the process that starts kernels is gone".to_owned()),
            Ok(count) => self.read.extend(&bytes[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.to_string()),
        }
        let Some(end) = self.read.iter().position(|it| *it == b'\n') else { return Ok(None) };
        let line: Vec<u8> = self.read.drain(..=end).collect();
        serde_json::from_slice(&line).map(Some).map_err(|error| error.to_string())
    }
}

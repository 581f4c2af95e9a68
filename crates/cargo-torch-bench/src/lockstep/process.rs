//! A process of a benchmark program that waits for its turn before each benchmark.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::connection::{Connection, Samples};
use super::linker::Inputs;
use crate::cargo::CASES_FAILED;
use crate::error::{Error, Result};
use crate::folder_lock::FolderLock;
use plan::lockstep::{CHECKED, PORT};
use plan::results::HOME;

/// A benchmark program of one side.
#[derive(Debug, Clone)]
pub struct Program {
    /// The name of its package.
    pub package: String,
    /// The bench target.
    pub target: String,
    /// The executable.
    pub path: PathBuf,
    /// Its linker's inputs, by which it is linked again with its functions in other orders; none where that is not possible.
    pub inputs: Option<Inputs>,
    /// The folder of its package, in which cargo would run it.
    pub folder: PathBuf,
    /// Whether it has our plug-in, which plans the samples itself.
    pub has_plugin: bool,
    /// Whether a process of it has checked its cases, so that the next ones take times alone.
    pub is_checked: bool,
    /// The folder for its records, if it has our plug-in; criterion leaves nothing.
    pub criterion_home: PathBuf,
    /// Variables, as the side needs them.
    pub environment: Vec<(&'static str, PathBuf)>,
}

/// The end of a start.
pub enum Started {
    /// The process waits for its first turn.
    Waits(Process),
    /// It has no benchmarks.
    Ended,
    /// Nobody waits for it any longer.
    Late,
}

/// The end of a turn.
pub enum Turn {
    Measured(Samples),
    /// The process has no more benchmarks.
    Ended,
    /// Nobody waits for it any longer.
    Late,
}

pub struct Process {
    child: Running,
    connection: Connection,
    has_begun: bool,
    /// Whether it ends with [`CASES_FAILED`] where its records say which cases have failed.
    has_plugin: bool,
    /// Its output on stderr.
    stderr: File,
    program: PathBuf,
}

/// Between two looks at whether a started process has connected or died.
const LOOK: Duration = Duration::from_millis(1);
/// Bytes at the end of stderr that an error shows.
const SHOWN: i64 = 2000;

impl Process {
    /// Starts the program and waits until it waits itself, before its first benchmark. It holds `claim`
    /// until it ends. Nobody waits for it after `until`.
    pub fn start(
        program: &Program,
        arguments: &[String],
        claim: &FolderLock,
        until: Instant,
    ) -> Result<Started> {
        let path = &program.path;
        let broken = |error: io::Error| failed(path, &error.to_string());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(broken)?;
        listener.set_nonblocking(true).map_err(broken)?;
        let port = listener.local_addr().map_err(broken)?.port();
        let stderr = tempfile::tempfile().map_err(broken)?;
        let mut command = Command::new(path);
        command
            .args(arguments)
            .current_dir(&program.folder)
            .env(PORT, port.to_string())
            .env(HOME, &program.criterion_home)
            // As cargo sets it for programs that look for their files.
            .env("CARGO_MANIFEST_DIR", &program.folder)
            .envs(program.environment.iter().map(|(name, value)| (name, value)))
            .envs(program.is_checked.then_some((CHECKED, "1")))
            .stdin(claim.as_stdin()?)
            .stdout(Stdio::null())
            .stderr(stderr.try_clone().map_err(broken)?);
        let mut child = Running(command.spawn().map_err(broken)?);
        let stream = match connected(&listener, &mut child.0, until) {
            Ok(Some(stream)) => stream,
            Ok(None) => {
                let status = child.0.wait().map_err(broken)?;
                return match status.success() {
                    true => Ok(Started::Ended),
                    false => Err(died(path, &status.to_string(), stderr)),
                };
            }
            Err(error) if error.kind() == ErrorKind::TimedOut => return Ok(Started::Late),
            Err(error) => return Err(broken(error)),
        };
        let connection = Connection::new(stream, until).map_err(broken)?;
        let (program, has_plugin) = (path.clone(), program.has_plugin);
        Ok(Started::Waits(Self {
            child,
            connection,
            has_begun: false,
            has_plugin,
            stderr,
            program,
        }))
    }

    /// Has it run its next benchmark, after which it waits again.
    pub fn turn(&mut self) -> Result<Turn> {
        let samples = match self.has_begun {
            true => self.connection.go_on(),
            false => self.connection.greet(),
        };
        self.has_begun = true;
        match samples.and_then(|()| self.connection.next()) {
            Ok(Some(samples)) => Ok(Turn::Measured(samples)),
            Ok(None) => self.ended().map(|()| Turn::Ended),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Ok(Turn::Late)
            }
            // It may have died before it read.
            Err(error) => self.ended().and(Err(failed(&self.program, &error.to_string()))),
        }
    }

    fn ended(&mut self) -> Result<()> {
        let status = self.child.0.wait();
        let status = status.map_err(|error| failed(&self.program, &error.to_string()))?;
        if status.success() || (self.has_plugin && status.code() == Some(CASES_FAILED)) {
            return Ok(());
        }
        let stderr = self.stderr.try_clone();
        let stderr = stderr.map_err(|error| failed(&self.program, &error.to_string()))?;
        Err(died(&self.program, &status.to_string(), stderr))
    }
}

/// A process that ends with its owner, if it has not ended before.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The connection of the process; none where it ends without one.
fn connected(
    listener: &TcpListener,
    child: &mut Child,
    until: Instant,
) -> io::Result<Option<TcpStream>> {
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(Some(stream));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if child.try_wait()?.is_some() {
            return Ok(None);
        }
        if Instant::now() > until {
            return Err(ErrorKind::TimedOut.into());
        }
        thread::sleep(LOOK);
    }
}

fn failed(program: &Path, what: &str) -> Error {
    Error::new(format!("{}: {what}", program.display()))
}

/// The error of a process that failed, with the last of what it wrote.
fn died(program: &Path, status: &str, mut stderr: File) -> Error {
    let mut last = Vec::new();
    let length = stderr.seek(io::SeekFrom::End(0)).unwrap_or(0).cast_signed();
    let read = stderr
        .seek(io::SeekFrom::Start((length - SHOWN).max(0).cast_unsigned()))
        .and_then(|_| stderr.take(SHOWN.cast_unsigned()).read_to_end(&mut last));
    let said = match read {
        Ok(_) => String::from_utf8_lossy(&last).trim().to_owned(),
        Err(error) => format!("its output cannot be read: {error}"),
    };
    failed(program, &format!("{status}: {said}"))
}

//! A program that stays to answer more than one request.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::{KEPT, Patience, Process, RunError, STEP};

/// Processes of one program, each of which answers one request at a time. A process stays for later
/// requests until it fails to answer; a request that finds none idle starts another.
///
/// The program reads requests from stdin, each a line, and answers each with a line that says how
/// many bytes follow, and these bytes. It ends when its stdin does, or to say by its stderr that a
/// request has failed.
#[derive(Debug)]
pub struct Workers {
    interpreter: OsString,
    script: &'static str,
    prepare: fn(&mut Command),
    idle: Mutex<Vec<Worker>>,
}

impl Workers {
    /// No process yet. `interpreter` is anything that takes a program after `-c`; `prepare` may
    /// change variables of each process's environment.
    pub fn new(interpreter: &Path, script: &'static str, prepare: fn(&mut Command)) -> Self {
        Self { interpreter: interpreter.into(), script, prepare, idle: Mutex::default() }
    }

    /// The answer to `request`, a line without its end. `what` the program does is for messages.
    /// No process outlives this one.
    ///
    /// # Errors
    /// When there is no answer within the limit. That ends the process that was asked, and no other.
    pub fn ask(&self, request: &str, what: &str, patience: Patience) -> Result<Vec<u8>, RunError> {
        let worker = match self.idle() {
            Some(worker) => worker,
            None => self.start().map_err(RunError::Start)?,
        };
        let note = || super::note(what, &self.interpreter);
        match worker.ask(request, patience, note)? {
            Ok(answer) => {
                self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
                Ok(answer)
            }
            Err(error) if is_end(error.kind()) => Err(worker.failure(patience, note)),
            Err(error) => Err(RunError::Failed(format!("its answer: {error}"))),
        }
    }

    /// A process that has not ended since it answered.
    fn idle(&self) -> Option<Worker> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|it| super::has_ended(&it.process.0).is_ok_and(|ended| !ended));
        idle.pop()
    }

    fn start(&self) -> io::Result<Worker> {
        let mut command = Command::new(&self.interpreter);
        command.arg("-c").arg(self.script);
        (self.prepare)(&mut command);
        Worker::start(command)
    }
}

/// A process, and the thread that speaks to it.
#[derive(Debug)]
struct Worker {
    process: Process,
    requests: Sender<String>,
    answers: Receiver<io::Result<Vec<u8>>>,
    stderr: JoinHandle<io::Result<Vec<u8>>>,
}

impl Worker {
    fn start(command: Command) -> io::Result<Self> {
        let (requests, asked) = mpsc::channel();
        let (answer, answers) = mpsc::channel();
        let (start, started) = mpsc::channel();
        // The process ends with the thread that starts it, so it is started by one that stays.
        thread::spawn(move || serve(command, &start, &asked, &answer));
        let mut process: Process = started.recv().map_err(io::Error::other)??;
        let stderr = super::read(process.0.stderr.take(), KEPT);
        Ok(Self { process, requests, answers, stderr })
    }

    /// The answer, or why none could be read.
    fn ask(
        &self,
        request: &str,
        patience: Patience,
        note: impl Fn(),
    ) -> Result<io::Result<Vec<u8>>, RunError> {
        let gone = || io::Error::other("the thread that asks has ended");
        let sent = self.requests.send(format!("{request}\n"));
        sent.map_err(|_| RunError::Failed(gone().to_string()))?;
        super::wait(patience, note, || match self.answers.recv_timeout(STEP) {
            Ok(answer) => Ok(Some(answer)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(gone()),
        })
    }

    /// Why the process has closed its pipes.
    fn failure(self, patience: Patience, note: impl Fn()) -> RunError {
        let Self { process, stderr, .. } = self;
        match process.end(patience, note) {
            Ok(status) => RunError::Failed(
                super::join(stderr)
                    .map_or_else(|error| error.to_string(), |said| super::failure(status, &said)),
            ),
            Err(error) => error,
        }
    }
}

fn is_end(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe)
}

/// Starts the process, and passes on requests and answers until nobody asks any more.
fn serve(
    mut command: Command,
    started: &Sender<io::Result<Process>>,
    asked: &Receiver<String>,
    answers: &Sender<io::Result<Vec<u8>>>,
) {
    let mut process = Process::start(&mut command);
    let pipes = process.as_mut().ok().map(|Process(it)| (it.stdin.take(), it.stdout.take()));
    drop(started.send(process));
    let Some((Some(mut stdin), Some(stdout))) = pipes else { return };
    let mut stdout = BufReader::new(stdout);
    for request in asked {
        let answer = stdin.write_all(request.as_bytes()).and_then(|()| read_answer(&mut stdout));
        drop(answers.send(answer));
    }
}

fn read_answer(stdout: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = String::new();
    if stdout.read_line(&mut line)? == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let length = line.trim_end().parse().map_err(|_| io::Error::other(format!("{line:?}")))?;
    let mut answer = Vec::new();
    stdout.take(length).read_to_end(&mut answer)?;
    if (answer.len() as u64) < length {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(answer)
}

#[cfg(test)]
#[path = "workers_tests.rs"]
mod tests;

//! The Python process that runs torchao's side: `peer.py`, one JSON object a line.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use plan::Case;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::rounds::Side;

/// A switch of `mallopt` and its value.
pub type Switch = (i32, i32);

/// The process, which builds one case at a time.
pub struct Peer {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// What it is.
    pub facts: Facts,
}

/// What answers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Facts {
    /// torch's version, with its build suffix.
    pub torch: String,
    /// torchao's version.
    pub torchao: String,
    /// Python's version.
    pub python: String,
    /// The instruction set that ATen dispatches to.
    pub capability: String,
}

/// An answer to `build`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Built {
    /// It has run once; torchao's type of the weight.
    Built(String),
    /// torchao refuses it; its own words.
    Unsupported(String),
}

#[derive(Deserialize)]
struct Timed {
    ns: u64,
}

impl Peer {
    /// Starts `python` and has it import torchao, after `mallopt` has been told `switches`.
    ///
    /// # Errors
    /// When it does not come up; its own words are on standard error.
    pub fn start(python: &OsStr, switches: &[Switch]) -> Result<Self, String> {
        let program =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/calibration/torchao/peer.py");
        let mut child = Command::new(python)
            // Deprecations, mostly.
            .args(["-W", "ignore"])
            .arg(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot run {}: {error}", python.display()))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (requests, answers) = pipes.ok_or("the Python process has no pipes")?;
        let facts = Facts::default();
        let mut peer = Self { child, requests, answers: BufReader::new(answers), facts };
        peer.facts = peer.ask(&json!({ "start": { "mallopt": switches } }))?;
        Ok(peer)
    }

    /// Builds the case, in place of the one before, and calls it once.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn build(&mut self, case: &Case) -> Result<Built, String> {
        self.ask(&build_request(case))
    }

    fn ask<T: DeserializeOwned>(&mut self, request: &Value) -> Result<T, String> {
        let mut answer = String::new();
        let written = writeln!(self.requests, "{request}").and_then(|()| self.requests.flush());
        let read = written.and_then(|()| self.answers.read_line(&mut answer));
        match read {
            Ok(bytes) if bytes > 0 => parse(&answer),
            _ => Err(self.ended()),
        }
    }

    fn ended(&mut self) -> String {
        match self.child.wait() {
            Ok(status) => format!("the Python process ended: {status}"),
            Err(error) => format!("the Python process is lost: {error}"),
        }
    }
}

impl Side for Peer {
    fn time(&mut self, lead_in: u64, calls: u64) -> Result<Duration, String> {
        let request = json!({ "time": { "lead_in": lead_in, "calls": calls } });
        self.ask(&request).map(|Timed { ns }| Duration::from_nanos(ns))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It holds nothing but its model.
        if let Err(error) = self.child.kill().and_then(|()| self.child.wait()) {
            eprintln!("note: the Python process could not be ended: {error}");
        }
    }
}

/// What `peer.py` is asked to build.
pub fn build_request(case: &Case) -> Value {
    json!({ "build": {
        "model": case.model,
        "recipe": case.recipe,
        "sparsity": case.sparsity,
        "dtype": case.dtype,
        "shape": [case.shape.m, case.shape.k, case.shape.n],
        "threads": case.settings.threads,
    } })
}

/// An answer, or what was said instead.
pub fn parse<T: DeserializeOwned>(answer: &str) -> Result<T, String> {
    serde_json::from_str(answer)
        .map_err(|error| format!("not an answer: {error}: {}", answer.trim_end()))
}

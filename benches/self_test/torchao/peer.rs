//! The Python process that runs torchao's side: `peer.py`, one JSON object a line.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use criterion_torch::compile::SETTINGS;
use criterion_torch::native::constants::LIBRARIES;
use libtorch::child::without_variables;
use plan::{Case, ModelWork};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::rounds::Contender;

/// Names the instruction set that ATen dispatches to.
pub const CAPABILITY: &str = "ATEN_CPU_CAPABILITY";

/// A switch of `mallopt` and its value.
pub type Switch = (i32, i32);

/// The process, which builds one case at a time.
pub struct Peer {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<io::Result<String>>,
    patience: Patience,
    /// Its versions and libraries.
    pub facts: Facts,
}

/// How long an answer may take; a process that takes longer hangs.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// To import torchao, and to build a case: HQQ's solver takes minutes for a large weight, and
    /// a compiler may take one.
    pub build: Duration,
    /// To time a batch or ten single calls.
    pub time: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { build: Duration::from_secs(600), time: Duration::from_secs(120) }
    }
}

/// The program that answers.
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
    /// How torch was built; several lines.
    pub configuration: String,
    /// Pages of constants that it has mapped beforehand: none where the system does not tell.
    pub constants: u64,
}

/// An answer to `build`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BuildReply {
    /// It has run once.
    Built(Built),
    /// torchao refuses it; its own words.
    Unsupported(String),
    /// Neither: something broke.
    Failed(String),
}

/// torchao's version of a model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Built {
    /// torchao's type of the weight; of the layer where it is trained.
    pub weight: String,
    /// How many graphs Dynamo compiled: 0 where it was not asked to.
    pub graphs: u64,
}

#[derive(Deserialize)]
struct Timed {
    ns: u64,
}

impl Peer {
    /// Starts `python` and has it import torchao, after `mallopt` has been told `switches`. Variables
    /// that steer torch and Inductor are removed, as for our own compiler.
    pub fn start(python: &OsStr, switches: &[Switch], patience: Patience) -> Result<Self, String> {
        let program =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/self_test/torchao/peer.py");
        let mut command = Command::new(python);
        // Deprecations, mostly.
        command.args(["-W", "ignore"]).arg(program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        without_variables(&mut command, &SETTINGS);
        // The capability of the kernels that both sides have besides compiled ones.
        if let Some(capability) = std::env::var_os(CAPABILITY) {
            command.env(CAPABILITY, capability);
        }
        let mut child =
            command.spawn().map_err(|error| format!("cannot run {}: {error}", python.display()))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (requests, answers) = pipes.ok_or("the Python process has no pipes")?;
        let (answered, answers_read) = channel();
        // A read cannot be given a deadline, the wait for a thread that reads can. It ends with the
        // process, or with the one that waits.
        thread::spawn(move || {
            BufReader::new(answers).lines().try_for_each(|line| answered.send(line))
        });
        let facts = Facts::default();
        let mut peer = Self { child, requests, answers: answers_read, patience, facts };
        let start = json!({ "start": { "mallopt": switches, "libraries": LIBRARIES } });
        peer.facts = peer.ask(&start, patience.build)?;
        Ok(peer)
    }

    /// Builds the case, in place of the one before, and calls it once, which compiles it if it should
    /// be.
    pub fn build(&mut self, case: &Case) -> Result<BuildReply, String> {
        self.ask(&build_request(case), self.patience.build)
    }

    /// Requests are shorter than a pipe holds, so that writing one waits for nobody.
    fn ask<T: DeserializeOwned>(&mut self, request: &Value, within: Duration) -> Result<T, String> {
        let written = writeln!(self.requests, "{request}").and_then(|()| self.requests.flush());
        if written.is_err() {
            return Err(self.ended());
        }
        match self.answers.recv_timeout(within) {
            Ok(Ok(answer)) => parse(&answer),
            Ok(Err(error)) => Err(format!("the Python process cannot be read: {error}")),
            Err(RecvTimeoutError::Disconnected) => Err(self.ended()),
            Err(RecvTimeoutError::Timeout) => Err(format!(
                "the Python process hangs: no answer within {} s",
                within.as_secs_f64()
            )),
        }
    }

    /// How a process ended that no longer talks.
    fn ended(&mut self) -> String {
        const ENDING: Duration = Duration::from_secs(10);
        let start = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return format!("the Python process ended: {status}"),
                Ok(None) if start.elapsed() < ENDING => thread::sleep(Duration::from_millis(5)),
                Ok(None) => {
                    return "the Python process neither ends nor answers".to_owned();
                }
                Err(error) => return format!("the Python process is lost: {error}"),
            }
        }
    }
}

impl Contender for Peer {
    fn time(&mut self, lead_in: u64, calls: u64) -> Result<Duration, String> {
        let request = json!({ "time": { "lead_in": lead_in, "calls": calls } });
        let timed = self.ask(&request, self.patience.time);
        timed.map(|Timed { ns }| Duration::from_nanos(ns))
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

/// The request to `peer.py` to build a case.
pub fn build_request(case: &Case) -> Value {
    let ModelWork { model, variant, shape, pass } =
        case.work.model().expect("only models get here: `without_peer`");
    json!({ "build": {
        "model": model,
        "recipe": variant.recipe,
        "sparsity": variant.sparsity,
        "compile_mode": variant.compile,
        "dtype": case.dtype,
        "shape": [shape.m, shape.k, shape.n],
        "threads": case.settings.threads,
        "pass": pass,
        "training": pass.and(case.settings.training.as_ref()),
    } })
}

/// An answer, or what was said instead.
pub fn parse<T: DeserializeOwned>(answer: &str) -> Result<T, String> {
    serde_json::from_str(answer)
        .map_err(|error| format!("not an answer: {error}: {}", answer.trim_end()))
}

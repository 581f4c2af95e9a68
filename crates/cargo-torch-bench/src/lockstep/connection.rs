//! The protocol in which criterion 0.5 to 0.8 reports to a program that runs its benchmarks.
//!
//! Criterion connects to the port in `CARGO_CRITERION_PORT`. It waits for a greeting before its first benchmark, and after
//! each benchmark for the word `Continue`. Who withholds the word keeps the process waiting. The samples of a
//! benchmark are sent as criterion took them, without an analysis. Messages are CBOR behind their length.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

use serde::Deserialize;

const RUNNER: &[u8] = b"cargo-criterion";
/// The version of `cargo-criterion` that first spoke this protocol, as criterion asks for one.
const RUNNER_VERSION: [u8; 3] = [1, 1, 0];
const BENCHMARK: &[u8] = b"Criterion";
const PROTOCOL: u16 = 1;
const QUINTILE: f64 = 0.2;
/// Largest message that is read: a million samples, in two arrays of 9 bytes each.
const LARGEST: usize = 64 << 20;

pub struct Connection {
    stream: TcpStream,
}

/// The samples of one benchmark.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    /// Criterion's id: group, function and parameter.
    pub full_id: String,
    /// Iterations of each sample.
    pub iters: Vec<f64>,
    /// The time of each sample, in the unit of the measurement: nanoseconds, unless the benchmark has its own.
    pub times: Vec<f64>,
}

impl Samples {
    /// The time of an iteration at the lower quintile of the samples: other programs only lengthen samples, and leave a
    /// fifth of them alone even where two programs share each processor.
    pub fn undisturbed(&self) -> f64 {
        let mut each: Vec<f64> = self.iters.iter().zip(&self.times).map(|(n, t)| t / n).collect();
        each.sort_by(f64::total_cmp);
        statistics::quantile(&each, QUINTILE)
    }
}

/// The parts of criterion's messages that matter here.
#[derive(Debug, Deserialize)]
enum Message {
    BeginningBenchmarkGroup {},
    FinishedBenchmarkGroup {},
    BeginningBenchmark {},
    SkippingBenchmark {},
    Warmup {},
    MeasurementStart {},
    MeasurementComplete { id: Id, iters: Vec<f64>, times: Vec<f64> },
}

#[derive(Debug, Deserialize)]
struct Id {
    group_id: String,
    function_id: Option<String>,
    value_str: Option<String>,
}

impl Id {
    /// As criterion joins it for filters and in `benchmark.json`.
    fn full(self) -> String {
        let parts = [Some(self.group_id), self.function_id, self.value_str];
        parts.into_iter().flatten().collect::<Vec<_>>().join("/")
    }
}

impl Connection {
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        // Messages are short, and each is waited for.
        stream.set_nodelay(true)?;
        Ok(Self { stream })
    }

    /// Lets the process begin.
    pub fn greet(&mut self) -> io::Result<()> {
        self.stream.write_all(&[RUNNER, &RUNNER_VERSION].concat())?;
        let mut hello = [0; BENCHMARK.len() + 3 + 2 + 2];
        self.stream.read_exact(&mut hello)?;
        let (name, rest) = hello.split_at(BENCHMARK.len());
        let [major, minor, patch, p, q, ..] = *rest else { unreachable!("seven bytes") };
        let protocol = u16::from_be_bytes([p, q]);
        if name != BENCHMARK || protocol != PROTOCOL {
            return Err(io::Error::other(format!(
                "criterion {major}.{minor}.{patch} speaks protocol {protocol}, not {PROTOCOL}"
            )));
        }
        Ok(())
    }

    /// Lets the process go on after a benchmark.
    pub fn go_on(&mut self) -> io::Result<()> {
        // A text string of 8 bytes, in CBOR: a variant without fields.
        let word = b"\x68Continue";
        self.stream.write_all(&(word.len() as u32).to_be_bytes())?;
        self.stream.write_all(word)
    }

    /// The samples of the benchmark that ends next, after which the process waits; none when it has ended.
    pub fn next(&mut self) -> io::Result<Option<Samples>> {
        loop {
            match self.message()? {
                None => return Ok(None),
                Some(Message::FinishedBenchmarkGroup {}) => self.go_on()?,
                Some(Message::MeasurementComplete { id, iters, times }) => {
                    return Ok(Some(Samples { full_id: id.full(), iters, times }));
                }
                Some(_) => {}
            }
        }
    }

    fn message(&mut self) -> io::Result<Option<Message>> {
        let mut length = [0; 4];
        match self.stream.read_exact(&mut length) {
            Err(error) if is_end(&error) => return Ok(None),
            read => read?,
        }
        let length = u32::from_be_bytes(length) as usize;
        if length > LARGEST {
            return Err(io::Error::other(format!("a message of {length} bytes")));
        }
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes)?;
        let read = ciborium::from_reader(&bytes[..]);
        read.map(Some).map_err(|error| io::Error::other(format!("criterion's message: {error}")))
    }
}

/// Whether the process is gone: it ended, or died with what was sent to it unread.
fn is_end(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset)
}

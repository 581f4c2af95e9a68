//! The protocol in which criterion 0.5 to 0.8 reports to a program that runs its benchmarks.
//!
//! Criterion connects to the port in `CARGO_CRITERION_PORT`. It waits for a greeting before its first benchmark, and after
//! each benchmark for the word `Continue`. Who withholds the word keeps the process waiting. The samples of a
//! benchmark are sent as criterion took them, without an analysis. Messages are CBOR behind their length.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

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
    /// When nobody waits for it any longer.
    until: Instant,
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
    pub fn new(stream: TcpStream, until: Instant) -> io::Result<Self> {
        // Messages are short, and each is waited for.
        stream.set_nodelay(true)?;
        Ok(Self { stream, until })
    }

    /// Lets the process begin.
    pub fn greet(&mut self) -> io::Result<()> {
        self.stream.write_all(&[RUNNER, &RUNNER_VERSION].concat())?;
        let mut hello = [0; BENCHMARK.len() + 3 + 2 + 2];
        self.limit()?;
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

    /// Has the next read end when nobody waits any longer: with `WouldBlock`, or `TimedOut` on Windows.
    fn limit(&self) -> io::Result<()> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))
    }

    fn message(&mut self) -> io::Result<Option<Message>> {
        let mut length = [0; 4];
        self.limit()?;
        match self.stream.read_exact(&mut length) {
            Err(error) if is_end(&error) => return Ok(None),
            read => read?,
        }
        acknowledge(&self.stream)?;
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

/// Acknowledges what has come, at once. Criterion writes the length of a message and the message apart, and without
/// `TCP_NODELAY`: its system sends the second part when the first is acknowledged, which ours puts off by 40 ms.
#[cfg(target_os = "linux")]
fn acknowledge(stream: &TcpStream) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;

    let on: libc::c_int = 1;
    let length = size_of_val(&on) as libc::socklen_t;
    // SAFETY: the option takes an int, which lives through the call; the stream is open.
    let set = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_QUICKACK,
            (&raw const on).cast(),
            length,
        )
    };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
fn acknowledge(_stream: &TcpStream) -> io::Result<()> {
    Ok(())
}

/// Whether the process is gone: it ended, or died with what was sent to it unread.
fn is_end(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;
    use std::time::Duration;

    use ciborium::cbor;

    use super::super::peer::Peer;
    use super::*;

    /// No test takes so long.
    const LONG: Duration = Duration::from_secs(600);

    /// A connection to a benchmark program that says this.
    fn connected(
        protocol: u16,
        says: impl FnOnce(Peer) + Send + 'static,
    ) -> (Connection, thread::JoinHandle<()>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let peer = thread::spawn(move || says(Peer::connect(port, protocol)));
        let (stream, _) = listener.accept().expect("a connection");
        (Connection::new(stream, Instant::now() + LONG).expect("usable"), peer)
    }

    /// Reads from a program that sends these bytes as its first message.
    fn first(bytes: impl FnOnce(&mut Peer) + Send + 'static) -> io::Result<Option<Samples>> {
        let (mut connection, peer) = connected(1, |mut peer| bytes(&mut peer));
        connection.greet()?;
        let read = connection.next();
        peer.join().expect("it ends");
        read
    }

    #[test]
    fn another_protocol_is_refused() {
        let (mut connection, peer) = connected(2, drop);
        let refused = connection.greet().expect_err("it is another").to_string();
        assert_eq!(refused, "criterion 0.8.2 speaks protocol 2, not 1");
        peer.join().expect("it ends");
    }

    #[test]
    fn ids_are_joined_as_criterion_does() {
        for (id, full_id) in [
            ([Some("group"), Some("function"), Some("17")], "group/function/17"),
            ([Some("group"), Some("function"), None], "group/function"),
            ([Some("group"), None, Some("17")], "group/17"),
            ([Some("function"), None, None], "function"),
        ] {
            let samples = first(move |peer| peer.benchmark(id, &[20.0, 30.0]));
            let expected = Samples {
                full_id: full_id.to_owned(),
                iters: vec![2.0, 2.0],
                times: vec![20.0, 30.0],
            };
            assert_eq!(samples.expect("a benchmark"), Some(expected));
        }
    }

    #[test]
    fn groups_end_without_a_turn_and_benchmarks_wait_for_theirs() {
        let (mut connection, peer) = connected(1, |mut peer| {
            let group = |name| cbor!({ name => { "group" => "a" } }).expect("CBOR");
            for _ in 0..2 {
                peer.send(&group("BeginningBenchmarkGroup"));
                peer.send(&cbor!({ "SkippingBenchmark" => { "id" => {} } }).expect("CBOR"));
                peer.benchmark([Some("a"), Some("b"), None], &[20.0]);
                assert_eq!(peer.word(), "Continue");
                peer.send(&group("FinishedBenchmarkGroup"));
                assert_eq!(peer.word(), "Continue");
            }
        });
        connection.greet().expect("the protocol");
        for _ in 0..2 {
            let samples = connection.next().expect("a message").expect("a benchmark");
            assert_eq!(samples.full_id, "a/b");
            connection.go_on().expect("it listens");
        }
        assert_eq!(connection.next().expect("the end"), None);
        peer.join().expect("it ends");
    }

    #[test]
    fn what_is_no_message_of_criterions_is_an_error() {
        assert_eq!(first(|_| ()).expect("it has ended"), None);
        let broken = first(|peer| peer.send_bytes(b"\xff")).expect_err("no CBOR").to_string();
        assert!(broken.starts_with("criterion's message: "), "{broken}");
        let unknown = cbor!({ "Applause" => {} }).expect("CBOR");
        let unknown = first(move |peer| peer.send(&unknown)).expect_err("no such message");
        assert!(unknown.to_string().contains("Applause"), "{unknown}");
        let large = first(|peer| peer.0.write_all(&u32::MAX.to_be_bytes()).expect("send"));
        let large = large.expect_err("too large").to_string();
        assert_eq!(large, "a message of 4294967295 bytes");
        let half = first(|peer| peer.0.write_all(b"\x00\x00\x00\x09\x68").expect("send"));
        assert_eq!(half.expect_err("half a message").kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn the_time_is_that_of_undisturbed_samples() {
        let samples = |times: &[f64]| Samples {
            full_id: "a".to_owned(),
            iters: vec![2.0; times.len()],
            times: times.to_vec(),
        };
        assert_eq!(samples(&[20.0]).undisturbed(), 10.0);
        let disturbed = [900.0, 20.0, 20.0, 70.0, 20.0, 90.0];
        assert_eq!(samples(&disturbed).undisturbed(), 10.0);
    }
}

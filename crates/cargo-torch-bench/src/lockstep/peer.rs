//! Criterion's side of the protocol, for tests.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use ciborium::{Value, cbor};

pub struct Peer(pub TcpStream);

impl Peer {
    /// Connects, and answers the runner's greeting as criterion 0.8.2 does, but for the protocol.
    pub fn connect(port: u16, protocol: u16) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("connect");
        let mut greeting = [0; 15 + 3];
        stream.read_exact(&mut greeting).expect("a greeting");
        assert_eq!(&greeting, b"cargo-criterion\x01\x01\x00");
        let hello = [&b"Criterion\x00\x08\x02"[..], &protocol.to_be_bytes(), &[0, 1]].concat();
        stream.write_all(&hello).expect("greet");
        Self(stream)
    }

    pub fn send(&mut self, message: &Value) {
        let mut bytes = Vec::new();
        ciborium::into_writer(message, &mut bytes).expect("CBOR");
        self.send_bytes(&bytes);
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let length = u32::try_from(bytes.len()).expect("it is short");
        self.0.write_all(&length.to_be_bytes()).expect("send");
        self.0.write_all(bytes).expect("send");
    }

    /// The runner's next word.
    pub fn word(&mut self) -> String {
        let mut length = [0; 4];
        self.0.read_exact(&mut length).expect("an answer");
        let mut bytes = vec![0; u32::from_be_bytes(length) as usize];
        self.0.read_exact(&mut bytes).expect("an answer");
        ciborium::from_reader(&bytes[..]).expect("a text")
    }

    /// Reports a benchmark with all that criterion says of one.
    pub fn benchmark(&mut self, id: [Option<&str>; 3], times: &[f64]) {
        let [group, function, value] = id;
        let id = cbor!({
            "group_id" => group, "function_id" => function, "value_str" => value, "throughput" => [],
        });
        let id = id.expect("CBOR");
        let config = cbor!({ "sample_size" => times.len(), "plot_config" => { "summary_scale" => "Linear" } });
        for message in [
            cbor!({ "BeginningBenchmark" => { "id" => id } }),
            cbor!({ "Warmup" => { "id" => id, "nanos" => 5e7 } }),
            cbor!({ "MeasurementStart" => { "id" => id, "sample_count" => times.len(), "estimate_ns" => 1e8, "iter_count" => 9 } }),
            cbor!({ "MeasurementComplete" => {
                "id" => id, "iters" => vec![2.0; times.len()], "times" => times,
                "sampling_method" => "Flat", "benchmark_config" => config.expect("CBOR"),
            } }),
        ] {
            self.send(&message.expect("CBOR"));
        }
    }
}

//! A server on this machine that gives the answers of a list, one after the other.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

pub const TOKEN: &str = "a token of the test";

/// A request to the server.
#[derive(Debug, Clone)]
pub struct Request {
    /// Method and path.
    pub line: String,
    pub authorization: String,
    pub body: String,
}

pub struct Server {
    pub url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Each answer is a status and a body; whoever asks more finds no server.
    pub fn answering(answers: Vec<(u16, String)>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&requests);
        thread::spawn(move || {
            for (status, body) in answers {
                let (stream, _) = listener.accept().expect("a connection");
                let request = read(&stream);
                // Before the answer, behind which the test looks.
                shared.lock().expect("no panic").push(request);
                answer(&stream, status, &body);
            }
        });
        Self { url, requests }
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("the server has not panicked").clone()
    }
}

fn read(stream: &TcpStream) -> Request {
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut text = String::new();
        reader.read_line(&mut text).expect("a line of the request");
        text.trim_end().to_owned()
    };
    let first = line();
    let (mut length, mut authorization) = (0, String::new());
    while let Some((name, value)) = line().split_once(": ") {
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().expect("a length"),
            "authorization" => authorization = value.to_owned(),
            "expect" => {
                let mut stream = stream;
                stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").expect("the client listens");
            }
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("the whole body");
    let line = first.trim_end_matches(" HTTP/1.1").to_owned();
    Request { line, authorization, body: String::from_utf8(body).expect("UTF-8") }
}

fn answer(mut stream: &TcpStream, status: u16, body: &str) {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} -\r\nContent-Length: {length}\r\nConnection: close");
    stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).expect("the client listens");
}

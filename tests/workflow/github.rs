//! GitHub's comments on a pull request, on this machine.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

pub const TOKEN: &str = "a token of the test";

/// What the server knows.
#[derive(Debug, Default)]
struct State {
    comments: Vec<Value>,
    /// Requests that were no reading.
    writes: usize,
    /// As the token of a pull request of a fork.
    read_only: bool,
    /// The answer to whatever is asked.
    nonsense: Option<String>,
}

/// Serves until the test ends.
pub struct GitHub {
    pub url: String,
    state: Arc<Mutex<State>>,
}

impl GitHub {
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.expect("a connection"), &mut shared.lock().expect("no panic"));
            }
        });
        Self { url, state }
    }

    /// A comment that somebody has written.
    pub fn has(&self, author: &str, body: &str) {
        self.state().add(author, body);
    }

    pub fn make_read_only(&self) {
        self.state().read_only = true;
    }

    /// Answers with this, and all is well.
    pub fn says_nothing_but(&self, text: &str) {
        self.state().nonsense = Some(text.to_owned());
    }

    /// The bodies of all comments by programs.
    pub fn by_programs(&self) -> Vec<String> {
        let state = self.state();
        let ours = state.comments.iter().filter(|comment| comment["user"]["type"] == "Bot");
        ours.map(|comment| comment["body"].as_str().expect("a text").to_owned()).collect()
    }

    pub fn writes(&self) -> usize {
        self.state().writes
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("the server has not panicked")
    }
}

impl State {
    fn add(&mut self, author: &str, body: &str) -> Value {
        let id = 1000 + self.comments.len();
        let comment = json!({"id": id, "user": {"type": author}, "body": body});
        self.comments.push(comment.clone());
        comment
    }

    /// Status and body.
    fn respond(&mut self, method: &str, path: &str, body: &[u8]) -> (u16, Value) {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let parameter = |name: &str| -> usize {
            let of = |pair: &str| pair.strip_prefix(&format!("{name}="))?.parse().ok();
            query.split('&').find_map(of).unwrap_or_else(|| panic!("{query}: no {name}"))
        };
        if method != "GET" {
            self.writes += 1;
            if self.read_only {
                return (403, json!({"message": "Resource not accessible by integration"}));
            }
        }
        let text = || {
            let body: Value = serde_json::from_slice(body).expect("the request has JSON");
            body["body"].as_str().expect("a comment has a text").to_owned()
        };
        match (method, path.strip_prefix("/repos/owner/project/issues/")) {
            ("GET", Some("7/comments")) => {
                let (size, page) = (parameter("per_page"), parameter("page"));
                let page = self.comments.iter().skip(size * (page - 1)).take(size);
                (200, Value::Array(page.cloned().collect()))
            }
            ("POST", Some("7/comments")) => (201, self.add("Bot", &text())),
            ("PATCH", Some(rest)) => {
                let id = rest.strip_prefix("comments/").and_then(|id| id.parse::<u64>().ok());
                match self.comments.iter_mut().find(|it| it["id"].as_u64() == id) {
                    Some(comment) => {
                        comment["body"] = text().into();
                        (200, comment.clone())
                    }
                    None => (404, json!({"message": "Not Found"})),
                }
            }
            _ => (404, json!({"message": "Not Found"})),
        }
    }
}

/// Reads one request, and closes the connection behind the answer.
fn answer(stream: TcpStream, state: &mut State) {
    let mut reader = BufReader::new(&stream);
    let mut line = || {
        let mut text = String::new();
        reader.read_line(&mut text).expect("a line of the request");
        text.trim_end().to_owned()
    };
    let request = line();
    let (mut length, mut authorized) = (0, false);
    loop {
        let header = line();
        let Some((name, value)) = header.split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().expect("a length"),
            "authorization" => authorized = value == format!("Bearer {TOKEN}"),
            "expect" => {
                (&stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n").expect("the client listens");
            }
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("the whole body");
    let mut words = request.split(' ');
    let (method, path) = (words.next().expect("a method"), words.next().expect("a path"));
    let (status, answer) = if authorized {
        state.respond(method, path, &body)
    } else {
        (401, json!({"message": "Bad credentials"}))
    };
    let answer = state.nonsense.clone().unwrap_or_else(|| answer.to_string());
    let head =
        format!("HTTP/1.1 {status} -\r\nContent-Length: {}\r\nConnection: close", answer.len());
    (&stream).write_all(format!("{head}\r\n\r\n{answer}").as_bytes()).expect("the client listens");
}

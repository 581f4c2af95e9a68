//! A real browser, spoken to over WebDriver: Chromium without a window.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// Codes of keys that are no letters, as WebDriver has them.
pub mod key {
    pub const TAB: &str = "\u{e004}";
    pub const ENTER: &str = "\u{e007}";
    pub const ESCAPE: &str = "\u{e00c}";
    pub const END: &str = "\u{e010}";
    pub const HOME: &str = "\u{e011}";
    pub const LEFT: &str = "\u{e012}";
    pub const UP: &str = "\u{e013}";
    pub const RIGHT: &str = "\u{e014}";
    pub const DOWN: &str = "\u{e015}";
    pub const SPACE: &str = " ";
}

/// A session of its own, with a profile of its own, which ends when this is dropped.
pub struct Browser {
    driver: Child,
    agent: ureq::Agent,
    session: String,
    _profile: TempDir,
}

impl Browser {
    /// None, which is said, where there is no driver, unless one is required.
    pub fn start() -> Option<Self> {
        let started = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut driver = match started {
            Ok(driver) => driver,
            Err(error) => {
                crate::common::skip::tool(format_args!("no chromedriver: {error}"));
                return None;
            }
        };
        let port = port(&mut driver);
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(60)))
            .http_status_as_error(false)
            .proxy(None)
            .build();
        let profile = tempfile::tempdir().expect("a temporary folder");
        let mut browser = Self {
            driver,
            agent: config.into(),
            session: format!("http://127.0.0.1:{port}/session"),
            _profile: profile,
        };
        let session = browser.post("", &capabilities(browser._profile.path()));
        let id = session["sessionId"].as_str().expect("a session has an id");
        browser.session = format!("{}/{id}", browser.session);
        // Errors are kept by the page itself, too: the log has no stack of them.
        let watch = "window.complaints = []; addEventListener('error', (event) => \
                     complaints.push(event.message)); addEventListener('unhandledrejection', \
                     (event) => complaints.push(String(event.reason)));";
        browser.cdp("Page.addScriptToEvaluateOnNewDocument", json!({ "source": watch }));
        // The requests of the browser's own first page do not concern the tests.
        browser.post("/url", &json!({ "url": "about:blank" }));
        browser.complaints();
        browser.requests();
        Some(browser)
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let url = format!("{}{path}", self.session);
        let mut answer = self.agent.post(&url).send_json(body).expect("the driver answers");
        let status = answer.status();
        let mut answer: Value = answer.body_mut().read_json().expect("JSON");
        assert!(status.is_success(), "{path} {body}: {answer}");
        answer["value"].take()
    }

    /// A command of Chromium's own protocol.
    pub fn cdp(&self, command: &str, parameters: Value) -> Value {
        self.post("/goog/cdp/execute", &json!({ "cmd": command, "params": parameters }))
    }

    /// Opens a file.
    pub fn open(&self, page: &Path) {
        self.load(page);
        self.settle();
    }

    /// Opens a file when no script runs, not even the driver's.
    pub fn load(&self, page: &Path) {
        self.post("/url", &json!({ "url": format!("file://{}", page.display()) }));
    }

    /// Waits until the body of a function returns true: what is animated takes its time.
    pub fn until(&self, body: &str) {
        for _ in 0..200 {
            if self.get(body) == Value::Bool(true) {
                return;
            }
            self.settle();
        }
        panic!("never true: {body}");
    }

    /// The value that a function with this body returns.
    pub fn get(&self, body: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": body, "args": [] }))
    }

    /// Does something, and waits until what it leads to is drawn.
    pub fn act(&self, body: &str) {
        self.get(body);
        self.settle();
    }

    /// Waits until what has been asked for is drawn: changes are drawn at the next frame, and one
    /// chart in each of those that follow.
    fn settle(&self) {
        let frames = "const done = arguments[0]; const quiet = () => \
                      document.querySelector('[aria-busy]') === null ? requestAnimationFrame(() => \
                      done()) : requestAnimationFrame(quiet); requestAnimationFrame(() => \
                      requestAnimationFrame(quiet));";
        self.post("/execute/async", &json!({ "script": frames, "args": [] }));
    }

    /// How many elements a selector finds.
    pub fn count(&self, selector: &str) -> u64 {
        let body = format!("return document.querySelectorAll({}).length", json!(selector));
        self.get(&body).as_u64().expect("a number")
    }

    /// The text of the first element that a selector finds.
    pub fn text(&self, selector: &str) -> String {
        let body = format!("return document.querySelector({}).textContent", json!(selector));
        self.get(&body).as_str().expect("a text").to_owned()
    }

    /// Presses keys, one after the other, and waits until what they lead to is drawn.
    pub fn press(&self, keys: &[&str]) {
        self.strike(keys);
        self.settle();
    }

    /// Presses keys without waiting: moving the focus draws nothing.
    pub fn strike(&self, keys: &[&str]) {
        let strokes = keys.iter().flat_map(|key| {
            [json!({ "type": "keyDown", "value": key }), json!({ "type": "keyUp", "value": key })]
        });
        let strokes: Vec<Value> = strokes.collect();
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": strokes });
        self.post("/actions", &json!({ "actions": [keyboard] }));
    }

    /// Types a text, a key at a time.
    pub fn type_text(&self, text: &str) {
        let keys: Vec<String> = text.chars().map(String::from).collect();
        self.press(&keys.iter().map(String::as_str).collect::<Vec<_>>());
    }

    /// Types a text where cases are filtered.
    pub fn type_into_filter(&self, text: &str) {
        self.act("document.getElementById('filter-text').focus()");
        self.type_text(text);
    }

    /// Width of the screen in pixels, and what the system prefers.
    pub fn emulate(&self, width: u32, theme: &str) {
        self.cdp(
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500 }),
        );
        let feature = json!({ "name": "prefers-color-scheme", "value": theme });
        self.cdp("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
        self.settle();
    }

    /// The page on paper.
    pub fn print(&self) -> Vec<u8> {
        let text = self.post("/print", &json!({ "background": true }));
        let pdf = text.as_str().expect("a PDF in base 64").to_owned();
        decode_base64(&pdf)
    }

    /// Errors of the page's script, and what the browser's log holds beyond remarks.
    pub fn complaints(&self) -> Vec<String> {
        let own = self.get("return window.complaints");
        let own = own.as_array().expect("a list").iter().map(ToString::to_string);
        let log = self.post("/se/log", &json!({ "type": "browser" }));
        let log = log.as_array().expect("a list").iter().map(ToString::to_string);
        own.chain(log).collect()
    }

    /// Addresses that the browser asked for since the last call.
    pub fn requests(&self) -> Vec<String> {
        let log = self.post("/se/log", &json!({ "type": "performance" }));
        let entries = log.as_array().expect("a list").iter();
        let messages = entries.map(|entry| {
            let text = entry["message"].as_str().expect("a message");
            serde_json::from_str::<Value>(text).expect("JSON")["message"].take()
        });
        let sent = messages.filter(|message| message["method"] == "Network.requestWillBeSent");
        let url = |message: Value| message["params"]["request"]["url"].as_str().map(str::to_owned);
        sent.filter_map(url).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The session's end closes Chromium. In a test that failed the driver may be gone, and with
        // it Chromium: then there is nothing to close.
        if let Err(error) = self.agent.delete(&self.session).call() {
            println!("the browser's session was not closed: {error}");
        }
        self.driver.kill().expect("the driver was started here");
        self.driver.wait().expect("the driver was started here");
    }
}

/// The free port that the driver chose, which it prints.
fn port(driver: &mut Child) -> u16 {
    let out = driver.stdout.take().expect("piped");
    let lines = BufReader::new(out).lines().map(|line| line.expect("text"));
    let on = lines.filter(|line| line.contains("started successfully on port"));
    let port = on.map(|line| line.trim_end_matches('.').rsplit(' ').next().map(str::parse));
    let port = port.flatten().next().expect("the driver names its port");
    port.expect("a number")
}

fn capabilities(profile: &Path) -> Value {
    let arguments = [
        "headless=new",
        "no-sandbox",
        "disable-gpu",
        "disable-quic",
        "no-first-run",
        "disable-background-networking",
        "disable-component-update",
        "disable-sync",
    ];
    let mut arguments: Vec<String> = arguments.map(str::to_owned).to_vec();
    arguments.push(format!("user-data-dir={}", profile.display()));
    json!({ "capabilities": { "alwaysMatch": {
        "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        "goog:chromeOptions": { "args": arguments },
    } } })
}

fn decode_base64(text: &str) -> Vec<u8> {
    let sextet = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        other => panic!("`{}` is not base 64", char::from(other)),
    };
    let letters: Vec<u8> = text.bytes().filter(|&letter| letter != b'=').map(sextet).collect();
    let group = |four: &[u8]| {
        let bits = four.iter().enumerate();
        let bits = bits.fold(0u32, |bits, (i, &it)| bits | u32::from(it) << (18 - 6 * i));
        bits.to_be_bytes()[1..four.len()].to_vec()
    };
    letters.chunks(4).flat_map(group).collect()
}

//! Names, ids and reasons that would steer a terminal: people see what they hold, and files for
//! programs have it as it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common;
use regex::Regex;
use serde_json::Value;
use tempfile::TempDir;

/// A colour, the title of the window, the start of the line, an erased screen, text from right to left,
/// and a line of its own.
const HOSTILE: &str = "\x1b[31m\x1b]0;title\x07\r\u{9b}2J\u{202e}\nFORGED";
/// Fields that anybody can write anything into.
const FREE: &[&str] = &[
    "reason",
    "error",
    "hostname",
    "os",
    "cpu_model",
    "governor",
    "git_revision",
    "no_pair",
    "notes",
    "kernels",
    "names",
    "shape_names",
    "warnings",
    "value",
    "remedy",
    "rustc",
    "libtorch",
];

fn spoil(key: &str, value: &mut Value) {
    match value {
        Value::String(text) => match text.find("/bf16-").or_else(|| text.find("/f32-")) {
            Some(place) => text.insert_str(place, HOSTILE),
            None if FREE.contains(&key) => text.push_str(HOSTILE),
            None => {}
        },
        Value::Array(items) => items.iter_mut().for_each(|item| spoil(key, item)),
        Value::Object(fields) => {
            // Elsewhere a variant is a word that has to be known.
            let of_an_id = fields.contains_key("parameter");
            fields.iter_mut().for_each(|(key, value)| {
                spoil(if key == "variant" && of_an_id { "reason" } else { key }, value);
            });
        }
        _ => {}
    }
}

fn spoil_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("created");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let to = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            spoil_folder(&path, &to);
            continue;
        }
        let text = fs::read_to_string(&path).expect("text");
        let is_one = path.extension().is_some_and(|extension| extension == "json");
        let spoilt = |text: &str| match serde_json::from_str(text) {
            Ok(mut value) => {
                spoil("", &mut value);
                value.to_string()
            }
            Err(_) => text.to_owned(),
        };
        let text = if is_one {
            spoilt(&text)
        } else {
            text.lines().map(|line| spoilt(line) + "\n").collect()
        };
        fs::write(to, text).expect("written");
    }
}

struct Folder(TempDir);

impl Folder {
    fn spoiled(fixture: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        spoil_folder(&common::fixture(fixture), folder.path());
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_criterion-report"));
        command.current_dir(self.0.path()).env_remove("RUST_BACKTRACE").args(arguments);
        command.output().expect("the program starts")
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// Checks that nothing in a text steers, and that characters which would are seen.
fn check(what: &str, text: &str) {
    for letter in HOSTILE.chars().filter(|letter| !letter.is_ascii_graphic() && *letter != '\n') {
        assert!(!text.contains(letter), "{what} has {letter:?}:\n{text}");
    }
    assert!(text.contains(r"\u{1b}"), "{what} does not show it:\n{text}");
}

const CRITERION: [&str; 2] = ["--criterion-dir", "criterion"];

#[test]
fn people_see_what_would_steer_a_terminal() {
    let ours = Regex::new("\x1b\\[([012]|3[123])m").expect("a pattern");
    for (fixture, commands) in [
        (
            "every-outcome",
            &["show --details", "show --columns latency,speedup", "export markdown", "html"][..],
        ),
        ("unreached-cases", &["show", "show --color always --sort latency"]),
        ("two-siblings", &["show --color always", "html", "compare new criterion --all"]),
        ("packed-sibling", &["show", "compare new criterion --format markdown"]),
        ("fusion", &["fusion", "fusion --color always"]),
        ("probes", &["show --details", "calibration --hardware here --device cpu"]),
        ("foreign-benchmark", &["show"]),
    ] {
        let folder = Folder::spoiled(fixture);
        for command in commands {
            let arguments: Vec<&str> = command.split(' ').chain(CRITERION).collect();
            let output = folder.run(&arguments);
            let what = format!("{command} of {fixture}");
            assert!(output.status.success(), "{what}: {}", text(&output.stderr));
            let seen = text(&output.stdout);
            let plain = match command.contains("always") {
                true => ours.replace_all(&seen, "").into_owned(),
                false => seen,
            };
            check(&what, &plain);
            let forged = plain.lines().any(|line| line.starts_with("FORGED"));
            assert!(*command == "html" || !forged, "{what} has a forged line:\n{plain}");
        }
    }
}

#[test]
fn so_does_standard_error() {
    let folder = Folder::spoiled("every-outcome");
    let said = text(&folder.run(&["csv", "--strict", "--criterion-dir", "criterion"]).stderr);
    check("--strict", &said);
    assert!(!said.lines().any(|line| line.starts_with("FORGED")), "{said}");

    let odd = folder.path("criterion").join("gr\x1b[31m\nFORGED/new");
    fs::create_dir_all(&odd).expect("created");
    fs::write(odd.join("benchmark.json"), "{").expect("written");
    let output = folder.run(&["csv", "--criterion-dir", "criterion"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    check("a folder", &said);
    assert!(said.contains(r"criterion/gr\u{1b}[31m\nFORGED/new/benchmark.json: EOF"), "{said}");
}

#[test]
fn programs_get_it_as_it_is() {
    let folder = Folder::spoiled("two-siblings");
    let id = format!("inference/quick/linear/cpu/int8wo{HOSTILE}/bf16-1024x1024x1024");
    let output = folder.run(&["export", "json", "--criterion-dir", "criterion"]);
    let exported: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(exported["cases"][1]["full_id"], id);
    fs::write(folder.path("exported.json"), &output.stdout).expect("written");
    let again = folder.run(&["export", "json", "--from", "exported.json"]);
    assert_eq!(again.stdout, output.stdout);

    let output = folder.run(&["csv", "--criterion-dir", "criterion"]);
    assert!(text(&output.stdout).contains(HOSTILE), "{}", text(&output.stdout));

    let output = folder.run(&["dashboard", "--criterion-dir", "criterion"]);
    let records: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(records.to_string().contains(&serde_json::to_string(HOSTILE).expect("JSON")[1..10]));
}

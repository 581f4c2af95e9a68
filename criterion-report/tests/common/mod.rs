//! Helpers of all tests of reports.

pub mod made;
pub mod many;
mod results;
#[path = "../../../tests/common/skip.rs"]
pub mod skip;
pub mod sweep;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use criterion_report::cli::writer::Writer;
use criterion_report::read::{Location, Report, Selection};
use criterion_report::views::written::Target;
use plan::{Pair, Stop};
use regex::Regex;
use tempfile::TempDir;

/// Whether texts that differ from what is stored take its place, as insta's snapshots do.
#[cfg(feature = "schema")]
pub fn is_update() -> bool {
    std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always")
}

/// Half-width of the interval of [`pair_of`], as a share of its ratio.
pub const PAIR_HALF_WIDTH: f64 = 0.01;

/// Interleaved runs of a case and `against`.
pub fn pair_of(against: String, speedup: f64) -> Pair {
    Pair {
        against,
        speedup,
        low: speedup * (1.0 - PAIR_HALF_WIDTH),
        high: speedup * (1.0 + PAIR_HALF_WIDTH),
        confidence_level: 0.95,
        log_ratios: vec![speedup.ln(); 12],
        builds: 6,
        visits: 1,
        within: Some(0.01),
        between: Some(0.005),
        iters: (1, 1),
        steps_ns: None,
        batches_per_block: 4,
        called: None,
        target: 0.01,
        stopped: Stop::Target,
        seconds: 1.0,
    }
}

/// The real program.
pub fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_criterion-report"))
        .args(args)
        .env_remove("CRITERION_HOME")
        .output()
        .expect("the program starts")
}

/// A command on the criterion folder of a fixture.
pub fn run_on(name: &str, args: &[&str]) -> Output {
    let folder = fixture(name).join("criterion");
    run(&[args, &["--criterion-dir", folder.to_str().expect("UTF-8")]].concat())
}

/// The program's standard output.
pub fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("text")
}

/// The program's standard error.
pub fn err(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("text")
}

/// Fixtures hold what runs left: a `criterion` folder, or a table of what would be in it, and a
/// `criterion-torch` folder beside it. They are named for what they show.
pub fn fixture(name: &str) -> PathBuf {
    results::folder(source(name))
}

/// A fixture as it lies in the package, relative to it so that messages are the same everywhere.
fn source(name: &str) -> PathBuf {
    let folder = PathBuf::from("tests/fixtures").join(name);
    assert!(folder.is_dir(), "no fixture {name}");
    folder
}

/// The place of a fixture's results; messages name its records as they lie in the package.
pub fn location(name: &str) -> Location {
    let records = source(name).join(Location::RECORDS);
    Location { records, criterion: fixture(name).join("criterion") }
}

/// A copy of a fixture that a test may change.
pub fn copied(name: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = source(name);
    copy(&source, folder.path());
    results::complete(&source, folder.path());
    folder
}

/// Copies what lies in one folder into another one, over files of the same name.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("created");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        // A link to a folder, too: see `results`.
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).expect("copied");
        }
    }
}

pub fn try_report(name: &str, baseline: &str, filter: &str) -> anyhow::Result<Report> {
    let filter = Regex::new(filter).expect("a valid pattern");
    read(name, baseline, Selection { filter: Some(&filter), ..Selection::default() })
}

pub fn latest(name: &str) -> Report {
    read(name, "new", Selection { latest: true, ..Selection::default() })
        .expect("a readable fixture")
}

fn read(name: &str, baseline: &str, selection: Selection<'_>) -> anyhow::Result<Report> {
    Report::read(&location(name), baseline, selection)
}

pub fn report(name: &str) -> Report {
    try_report(name, "new", "").expect("a readable fixture")
}

/// The fixture `preallocated` with CUDA graphs in place of the outputs.
pub fn in_graphs() -> Report {
    let folder = copied("preallocated");
    for file in ["new/inference.jsonl", "runs/20261120T134000Z-4242.json"] {
        let file = folder.path().join(Location::RECORDS).join(file);
        let text = fs::read_to_string(&file).expect("readable").replace("+out", "+graph");
        let text = text.replace("\"preallocated\":true", "\"graph\":true");
        fs::write(&file, text).expect("written");
    }
    let location = Location::at(folder.path().join("criterion"));
    Report::read(&location, "new", Selection::default()).expect("readable")
}

/// The text and, below it, what the writer says on standard error.
pub fn write(writer: &Writer, report: &Report) -> String {
    write_on(None, writer, report)
}

/// Like [`write`], on a terminal of some width.
pub fn write_on(width: Option<usize>, writer: &Writer, report: &Report) -> String {
    let target = Target { colour_terminal: false, width, file: None };
    match text_and_notes(writer, report, target) {
        Ok((text, notes)) => {
            let notes = notes.iter().map(|note| format!("\nnote: {note}"));
            format!("{text}{}", notes.collect::<String>())
        }
        Err(error) => format!("error: {error}"),
    }
}

/// The writer's output and its notes.
pub fn text_and_notes(
    writer: &Writer,
    report: &Report,
    target: Target<'_>,
) -> anyhow::Result<(String, Vec<String>)> {
    let mut out = Vec::new();
    let written = writer.write(report, target, &mut out)?;
    Ok((String::from_utf8(out).expect("text"), written.notes))
}

/// Fixtures that can be read under `new`.
pub const READABLE: &[&str] = &[
    "probes",
    "candidate-alone",
    "compiled",
    "compiled-modes",
    "different-runs",
    "earlier-runs",
    "every-outcome",
    "foreign-benchmark",
    "fusion",
    "fusion-products",
    "host-bound",
    "interleaved",
    "mixed-estimate",
    "no-pair",
    "noisy",
    "older-lines",
    "other-dtype",
    "packed-sibling",
    "page-faults",
    "preallocated",
    "quick-mode",
    "small-kernels",
    "stale-baseline",
    "stale-estimate",
    "torn-last-line",
    "torn-line-then-more",
    "two-configs-one-series",
    "two-siblings",
    "unreached-cases",
    "unreadable-estimate",
];

/// Fixtures of three runs, `main@1` to `main@3`.
pub const SEVERAL_RUNS: &[&str] = &["several-runs", "failed-in-one-run"];

/// Holds a document against a published schema.
#[cfg(feature = "schema")]
pub fn assert_as_schema(name: &str, document: &serde_json::Value) {
    let text = fs::read_to_string(format!("schema/{name}.schema.json")).expect("readable");
    let schema = serde_json::from_str(&text).expect("JSON");
    let schema = jsonschema::draft202012::new(&schema).expect("a schema");
    let errors = schema.iter_errors(document);
    let errors: Vec<String> =
        errors.map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{name}: {errors:#?}");
}

//! Every other file that is read whole: the first byte says which. Accepted files are possible
//! ones, and no use of them panics.
#![no_main]

#[path = "../writers.rs"]
mod writers;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use criterion_report::compare::{Floors, SideRun, Limits, Measure, Profile, Side, Thresholds};
use criterion_report::views::kernels::{Past, compare, trends};
use criterion_report::read::{Inputs, Location, Report, Selection};
use criterion_report::views::calibration;
use criterion_report::cli::validate::Options;
use criterion_report::write;
use libfuzzer_sys::{Corpus, fuzz_target};
use tempfile::TempDir;

/// Results to which the documents belong, and the documents.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/two-siblings");
    copy(&results, folder.path());
    folder
});
const ID: &str = "inference/quick/linear/cpu/int8wo/bf16-1024x1024x1024";
const RUN: &str = "criterion-torch/runs/20261120T134000Z-4242";
/// The file in which `export otava` keeps the history of the case.
const HISTORY: &str = "history/inference_quick_linear_cpu/int8wo/bf16-1024x1024x1024.csv";

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((kind, text)) = data.split_first() else { return Corpus::Reject };
    match kind {
        b'c' => config(text),
        b'h' => history(text),
        b'm' => machine(text),
        b'n' => noise(text),
        b'r' => run(text),
        b's' => summary(text),
        b't' => thresholds(text),
        b'v' => upload(text),
        _ => return Corpus::Reject,
    }
    Corpus::Keep
});

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("created");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        match entry.file_type().expect("a type").is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), &to).expect("copied")),
        }
    }
}

fn file(name: &str, text: &[u8]) -> PathBuf {
    let path = FOLDER.path().join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("created");
    fs::write(&path, text).expect("written");
    path
}

fn inputs() -> Inputs {
    let location = Location::at(FOLDER.path().join("criterion"));
    Inputs::read(&location, "new", &Selection::default()).expect("the records are fine")
}

fn config(text: &[u8]) {
    if let Ok(text) = str::from_utf8(text) {
        drop(plan::Config::parse(Path::new("fuzzed.yml"), text));
    }
}

fn history(text: &[u8]) {
    file(HISTORY, text);
    let report = Report::new(inputs(), "new", Selection::default());
    let history = FOLDER.path().join("history");
    let history = history.to_str().expect("text");
    drop(writers::one(&["export", "otava", "--history", history], &report));
}

fn machine(text: &[u8]) {
    if let Ok(profile) = calibration::Profile::load(&file("machine.json", text)) {
        write::calibration::write(&profile, Some(80), true);
    }
}

fn noise(text: &[u8]) {
    let Ok(Some(profile)) = Profile::read(&file("noise.json", text)) else { return };
    for (host, noise) in &profile.hosts {
        for id in noise.cases.keys().map(String::as_str).chain([ID]) {
            for measure in [Measure::Time, Measure::Energy] {
                let known = Floors::Profile(Some(&profile)).noise_floor(Some(host), id, measure);
                assert!(known.floor.sigma >= 0.0 && known.floor.sigma.is_finite());
                known.text();
            }
        }
    }
    let again = file("again.json", profile.json().expect("serialises").as_bytes());
    assert_eq!(Profile::read(&again).expect("our own"), Some(profile));
}

/// The manifest of a run, and what lies beside it.
fn run(text: &[u8]) {
    let (manifest, running) = match text.iter().position(|byte| *byte == 0) {
        Some(end) => (&text[..end], &text[end + 1..]),
        None => (text, &b""[..]),
    };
    file(&format!("{RUN}.json"), manifest);
    file(&format!("{RUN}.running"), running);
    let inputs = inputs();
    if !inputs.runs.is_empty() {
        writers::all(inputs);
    }
}

fn summary(text: &[u8]) {
    let Ok(past) = Past::read(&file("summary.json", text)) else { return };
    let now = Past { timestamp: "2026-11-20T13:40:00Z".to_owned(), ..past.clone() };
    for trend in trends(&[past.clone()], &now) {
        assert!(trend.change().is_finite() && trend.best() > 0.0);
    }
    let runs = vec![SideRun::new("past", past.points)];
    let before = Side { name: "past".to_owned(), runs };
    drop(compare(&before, now.points, None, Limits::default()));
}

fn thresholds(text: &[u8]) {
    if let Ok(thresholds) = Thresholds::read(&file("thresholds.yml", text)) {
        let Limits { latency, memory, accuracy, energy } = thresholds.limits_for(ID);
        assert!([latency, memory, accuracy, energy].iter().all(|it| *it >= 0.0 && it.is_finite()));
    }
}

fn upload(text: &[u8]) {
    Options { files: vec![file("upload.json", text)] }.run().text();
}

//! The measured runs that rows share, and what `calibrate` asks the report for.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use plan::Record;
use serde_json::Value;

use crate::page::Row;
use crate::suites::words;
use crate::workspace::TestWorkspace;

/// The run that most rows read: matrix products, every pattern, and the profile made of them.
pub struct Run {
    pub workspace: TestWorkspace,
    pub file: PathBuf,
    pub summary: String,
    pub profile: Value,
    /// `criterion-report fusion --format json`.
    pub results: Vec<Value>,
    pub records: Vec<Record>,
}

/// Configs of this package, whose sizes are smaller than those that `calibrate` writes.
pub fn run() -> &'static Run {
    static RUN: OnceLock<Run> = OnceLock::new();
    RUN.get_or_init(|| {
        let workspace = TestWorkspace::new();
        workspace.bench("calibration", &["^calibration/machine/matmul/"]);
        workspace.quiet_bench("fusion", "new", &["^fusion/graphs/"]);
        let row = Row::new("graphs", "`calibrator --hardware … --output FILE`");
        let (file, summary) = profiled(&workspace, &words(&row, "cargo torch-bench"), HERE);
        let profile = read(&file);
        let document = json(&workspace.report(&["fusion", "--format", "json"]));
        let results = document["results"].as_array().expect("a list").clone();
        let records = workspace.records("new", "fusion");
        Run { workspace, file, summary, profile, results, records }
    })
}

/// The stems of the configs of [`run`].
pub const HERE: Option<&str> = Some("(machine|graphs)");

/// The profile of a calibration as `calibrate` makes it: the very configs that this line writes, of which this package
/// has copies, and the very words that it gives to the report. It measures only what fusing gains and its baseline.
pub fn calibrated() -> &'static Value {
    static PROFILE: OnceLock<Value> = OnceLock::new();
    PROFILE.get_or_init(|| {
        let line = "torch-bench calibrate --only attention --quick --operations call --hardware \
                    tiny --output tiny.json";
        let line: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let written = cargo_torch_bench::configs(line.iter().map(OsString::from).collect());
        for (mode, text) in written.expect("it is understood") {
            let copy = format!("configs/{mode}/calibrate.yml");
            let copy = Path::new(env!("CARGO_MANIFEST_DIR")).join(copy);
            assert_eq!(fs::read_to_string(&copy).expect("readable"), text, "{copy:?}");
        }
        let workspace = TestWorkspace::new();
        workspace.bench("calibration", &["^calibration/calibrate/"]);
        workspace.quiet_bench("fusion", "new", &["^fusion/calibrate/.*/(unfused|fused)/"]);
        read(&profiled(&workspace, &line, None).0)
    })
}

/// Runs what a line of `calibrate` asks the report for: its file in the workspace, and what was printed. The report
/// is about cases of the configs with these stems, if not of those that `calibrate` writes.
pub fn profiled(
    workspace: &TestWorkspace,
    line: &[String],
    stems: Option<&str>,
) -> (PathBuf, String) {
    let mut line = line.to_vec();
    let output = line.iter().position(|word| word == "--output").expect("a file is named") + 1;
    let file = workspace.path(&line[output]);
    line[output] = file.to_str().expect("UTF-8").to_owned();
    // The folder of the file is made by this.
    let reports = cargo_torch_bench::reports(line.iter().map(OsString::from).collect())
        .expect("it is understood");
    let [report] = &reports[..] else { panic!("one report: {reports:?}") };
    let mut report: Vec<String> =
        report.iter().map(|word| word.to_str().expect("UTF-8").to_owned()).collect();
    assert_eq!(report[..3], ["calibration", "--latest", "--filter"]);
    assert_eq!(report[3], "^(calibration|fusion)/calibrate/");
    if let Some(stems) = stems {
        report[3] = report[3].replace("calibrate", stems);
    }
    let summary = workspace.report(&report.iter().map(String::as_str).collect::<Vec<_>>());
    (file, summary)
}

pub fn read(file: &Path) -> Value {
    json(&fs::read_to_string(file).expect("written"))
}

pub fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

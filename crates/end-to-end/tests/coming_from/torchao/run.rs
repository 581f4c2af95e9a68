//! The measured runs that rows share, and plans of configs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::Value;

use crate::page::Row;
use crate::suites;
use crate::workspace::TestWorkspace;

/// A run of `configs/<mode>/torchao.yml`, and the folders of `--torchao-output`.
pub struct Run {
    pub workspace: TestWorkspace,
    /// Paths of the files that `--torchao-output` wrote.
    pub files: Vec<String>,
    /// The printed output.
    pub printed: String,
    /// The lines of the CSV, by column.
    pub lines: Vec<Vec<(String, String)>>,
}

/// The run of inference.
pub fn inference() -> &'static Run {
    static RUN: OnceLock<Run> = OnceLock::new();
    RUN.get_or_init(|| Run::new("inference"))
}

/// The records of every recipe and every model that the page names, by id.
pub fn words() -> &'static BTreeMap<String, Value> {
    static WORDS: OnceLock<BTreeMap<String, Value>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let workspace = TestWorkspace::new();
        workspace.bench("inference", &["--quick", "^inference/torchao_(recipes|models)/"]);
        workspace.bench("training", &["--quick", "^training/torchao_models/"]);
        let records = ["inference", "training"].map(|mode| workspace.records::<Value>("new", mode));
        let id = |record: &Value| record["full_id"].as_str().expect("an id").to_owned();
        records.concat().into_iter().map(|record| (id(&record), record)).collect()
    })
}

/// Checks that a case of [`words`] was measured; its record.
pub fn measured(id: &str) -> &'static Value {
    let record = words().get(id).unwrap_or_else(|| panic!("no record {id}"));
    assert_eq!(record["outcome"]["status"], "measured", "{id}: {record}");
    record
}

/// The run of training.
pub fn training() -> &'static Run {
    static RUN: OnceLock<Run> = OnceLock::new();
    RUN.get_or_init(|| Run::new("training"))
}

impl Run {
    fn new(mode: &str) -> Self {
        let workspace = TestWorkspace::new();
        workspace.quiet_bench(mode, "new", &["--quick", &format!("^{mode}/torchao/")]);
        // The config's own `output_dir`, which begins at the current folder.
        let here = workspace.path("here");
        fs::create_dir(&here).expect("writable");
        // The report arguments that `bench` builds from the page's command line.
        let line = ["torch-bench", "bench", "--bench", mode, "--torchao-output"];
        let reports = cargo_torch_bench::reports(line.map(OsString::from).to_vec())
            .expect("it is understood");
        let [words] = &reports[..] else { panic!("one report: {reports:?}") };
        let output = report_in(&here, &workspace, words);
        let printed = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut files = files(&here);
        files.sort();
        let results = files.iter().find(|it| it.ends_with(".csv")).expect("a CSV");
        let lines = lines(&here.join(results));
        Self { workspace, files, printed, lines }
    }

    /// The path of a file in the current folder of `--torchao-output`.
    pub fn path(&self, file: &str) -> PathBuf {
        self.workspace.path("here").join(file)
    }

    /// The files of a folder that `--torchao-output` wrote.
    pub fn inside(&self, folder: &str) -> Vec<&str> {
        let folder = format!("torchao_results/{folder}/");
        let files = self.files.iter().filter(|it| it.starts_with(&folder));
        files.map(String::as_str).collect()
    }

    /// The cell of a line of the CSV.
    pub fn cell(&self, name: &str, quantization: &str, column: &str) -> &str {
        let of = |line: usize, column: &str| -> &str {
            let found = self.lines[line].iter().find(|(name, _)| name == column);
            found.map_or_else(|| panic!("no column {column}"), |(_, cell)| cell)
        };
        let mut lines = 0..self.lines.len();
        let line = lines
            .find(|&it| of(it, "name") == name && of(it, "quantization") == quantization)
            .unwrap_or_else(|| panic!("no line of {name}, {quantization}"));
        of(line, column)
    }

    /// The record of a case.
    pub fn record(&self, mode: &str, id: &str) -> Value {
        let id = format!("{mode}/torchao/{id}");
        let mut records = self.workspace.records::<Value>("new", mode).into_iter();
        records.find(|it| it["full_id"] == id.as_str()).unwrap_or_else(|| panic!("no record {id}"))
    }
}

/// `criterion-report` on the results of a workspace, in another folder.
fn report_in(folder: &Path, workspace: &TestWorkspace, arguments: &[OsString]) -> Output {
    let mut report = Command::new(env!("CARGO_BIN_EXE_report"));
    report.args(arguments).current_dir(folder).env("CRITERION_HOME", workspace.path("criterion"));
    report.output().expect("it starts")
}

/// The help of a command such as `cargo torch-bench bench …`.
pub fn help(command: &str) -> String {
    let words = command.split(' ').skip_while(|word| *word != "torch-bench").take(2);
    let mut tool = Command::new(env!("CARGO_BIN_EXE_torch_bench"));
    let output = tool.args(words).arg("--help").output().expect("it starts");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// All files below a folder, relative to it.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        let name = path.file_name().expect("a name").to_str().expect("UTF-8").to_owned();
        if path.is_dir() {
            found.extend(files(&path).into_iter().map(|inner| format!("{name}/{inner}")));
        } else {
            found.push(name);
        }
    }
    found
}

fn lines(file: &Path) -> Vec<Vec<(String, String)>> {
    let mut reader = csv::Reader::from_path(file).expect("a CSV");
    let heading = reader.headers().expect("a heading").clone();
    let line = |line: csv::StringRecord| {
        heading.iter().zip(&line).map(|(name, cell)| (name.to_owned(), cell.to_owned())).collect()
    };
    reader.records().map(|it| line(it.expect("a line"))).collect()
}

/// A block of torchao's documents, which stand in the tests of the plan.
pub fn block(stem: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plan/tests/documents");
    fs::read_to_string(folder.join(stem).with_extension("yml")).expect("a block")
}

/// `criterion-report plan` of a config, run in this package; keys without a model belong to one.
fn plan(config: &str) -> Output {
    let indented: String = config.lines().map(|line| format!("  {line}\n")).collect();
    let is_whole = config.contains("model_params:");
    let text = if is_whole { config.to_owned() } else { format!("model_params:\n{indented}") };
    report_on(&["plan", "--format", "json"], &text)
}

/// The row's `cargo criterion-report … CONFIG`, with this config.
pub fn run_on(row: &Row, config: &str) -> Output {
    let words = suites::words(row, "cargo criterion-report");
    let Some((last, before)) = words[1..].split_last() else { panic!("no command: {}", row.ours) };
    assert_eq!(last, "CONFIG");
    let output = report_on(&before.iter().map(String::as_str).collect::<Vec<_>>(), config);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// A command of `criterion-report` on a config, in this package.
fn report_on(arguments: &[&str], config: &str) -> Output {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("config.yml");
    fs::write(&file, config).expect("writable");
    let mut report = Command::new(env!("CARGO_BIN_EXE_report"));
    report.args(arguments).arg(file).current_dir(env!("CARGO_MANIFEST_DIR"));
    report.output().expect("it starts")
}

/// The cases of a config.
pub fn planned(config: &str) -> Vec<Value> {
    let output = plan(config);
    assert!(output.status.success(), "{config}\n{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a JSON list")
}

/// The errors of a config that is refused.
pub fn refused(config: &str) -> String {
    let output = plan(config);
    assert_eq!(output.status.code(), Some(2), "{config}");
    String::from_utf8(output.stderr).expect("UTF-8")
}

/// A value of every case, each once, in their order.
pub fn values(cases: &[Value], key: &str) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for case in cases {
        let text = case[key].as_str().map_or_else(|| case[key].to_string(), str::to_owned);
        if !values.contains(&text) {
            values.push(text);
        }
    }
    values
}

/// The shapes of the cases, each once, in their order.
pub fn shapes(cases: &[Value]) -> Vec<[i64; 3]> {
    let mut shapes = Vec::new();
    for case in cases {
        let shape = ["m", "k", "n"].map(|key| case[key].as_i64().expect("a size"));
        if !shapes.contains(&shape) {
            shapes.push(shape);
        }
    }
    shapes
}

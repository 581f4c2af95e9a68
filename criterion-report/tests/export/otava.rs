//! Histories for Apache Otava: rows are added and none is lost, and its configuration names what its
//! importer can read.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const CASE: &str = "inference_quick_linear_cpu/int8wo/bf16-1024x1024x1024.csv";

fn export(history: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_criterion-report"))
        .args(["export", "otava", "--criterion-dir", "tests/fixtures/two-siblings/criterion"])
        .arg("--history")
        .arg(history)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

/// Standard output and standard error.
fn ended(export: Child) -> [String; 2] {
    let output = export.wait_with_output().expect("it ends");
    let [out, err] = [output.stdout, output.stderr].map(|it| String::from_utf8(it).expect("text"));
    assert!(output.status.success(), "{err}");
    [out, err]
}

fn add(file: &Path, row: &str) {
    let text = fs::read_to_string(file).expect("a history");
    fs::write(file, format!("{text}{row}\n")).expect("written");
}

/// Whoever has the lock may add a row while an export waits: both rows are there in the end.
#[test]
fn of_two_exports_at_once_none_loses_the_others_row() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    ended(export(folder.path()));
    let file = folder.path().join(CASE);
    let whole = fs::read_to_string(&file).expect("a history");
    let mut lines = whole.lines();
    let (heading, row) = (lines.next().expect("a heading"), lines.next().expect("a row"));
    fs::write(&file, format!("{heading}\n")).expect("written");
    let lock = File::create(folder.path().join(".lock")).expect("the lock");
    lock.lock().expect("it is free");
    let mut waits = export(folder.path());
    // Time enough for one that does not wait to be done, and to lose its row below.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let other = row.replace("2026-11-20", "2026-11-21");
    fs::write(&file, format!("{heading}\n{other}\n")).expect("written");
    assert!(waits.try_wait().expect("its state").is_none(), "it did not wait");
    drop(lock);
    ended(waits);
    assert_eq!(fs::read_to_string(&file).expect("a history"), format!("{whole}{other}\n"));
}

/// The importer ends at an empty cell: what a row lacks is in no test until the history begins anew.
#[test]
fn a_gap_takes_its_measure_out_of_the_test_and_is_said_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    ended(export(folder.path()));
    for case in [CASE.to_owned(), CASE.replace("int8wo", "baseline")] {
        let file = folder.path().join(case);
        let text = fs::read_to_string(&file).expect("a history");
        let (heading, row) = text.trim_end().split_once('\n').expect("a heading and a row");
        let place = heading.split(',').position(|it| it == "sqnr").expect("a column");
        let mut cells: Vec<&str> = row.split(',').collect();
        (cells[0], cells[place]) = ("2026-11-01T00:00:00Z", "");
        add(&file, &cells.join(","));
    }
    let [config, said] = ended(export(folder.path()));
    assert!(config.contains("latency:") && !config.contains("sqnr"), "{config}");
    let notes: Vec<&str> = said.lines().filter(|line| line.contains("`sqnr` is not in")).collect();
    assert!(
        matches!(&notes[..], [note] if note.contains("and 1 more: some row lacks it")),
        "{said}"
    );
}

/// A test without a metric would be one that finds nothing for ever.
#[test]
fn a_history_of_gaps_alone_is_no_test() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    ended(export(folder.path()));
    let file = folder.path().join(CASE);
    let columns = fs::read_to_string(&file).expect("a history");
    let columns = columns.lines().next().expect("a heading").split(',').count();
    add(&file, &format!("2026-11-01T00:00:00Z,1f0c,main,run{}", ",".repeat(columns - 4)));
    let [config, _] = ended(export(folder.path()));
    assert!(config.contains("linear/cpu/baseline") && !config.contains("int8wo"), "{config}");
}

/// Quotes, commas and spaces of a branch come back as they were.
#[test]
fn odd_attributes_are_quoted() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    ended(export(folder.path()));
    let file = folder.path().join(CASE);
    let text = fs::read_to_string(&file).expect("a history");
    let row = text.lines().nth(1).expect("a row").replace("2026-11-20", "2026-11-19");
    let odd = row.replacen(",none,", ",\"a \"\"b\"\", c\",", 1);
    add(&file, &odd);
    fs::write(&file, fs::read_to_string(&file).expect("a history").replace("T13:40", "T13:41"))
        .expect("written");
    ended(export(folder.path()));
    let rows = fs::read_to_string(&file).expect("a history");
    assert!(rows.contains(&odd.replace("T13:40", "T13:41")), "{rows}");
    assert_eq!(rows.lines().count(), 4, "{rows}");
}

//! An exported file is worth as much as the folder that it is of.

use std::fs;
use std::path::{Path, PathBuf};

use criterion_report::model::{Exported, Inputs, Location, Report, Selection};
use criterion_report::write::Writer;
use criterion_report::write::export::Format;
use regex::Regex;

use crate::common::{READABLE, fixture, report, text_and_notes, write};
use crate::{TARGET, writer};

fn exported(report: &Report, format: Format, folder: &Path) -> PathBuf {
    let (text, _) = text_and_notes(&Writer::Export(format), report, TARGET).expect("written");
    let path = folder.join("report");
    fs::write(&path, text).expect("a temporary file");
    path
}

fn back(path: &Path, selection: Selection<'_>) -> Report {
    match Inputs::read_file(path).expect("readable") {
        Exported::Report { mut inputs, baseline } => {
            inputs.retain(&selection);
            Report::of(*inputs, &baseline, selection)
        }
        Exported::Critcmp(_) => panic!("it is a report"),
    }
}

fn writers() -> Vec<Writer> {
    [
        "show --details",
        "csv",
        "dashboard",
        "fusion",
        "operators",
        "export json",
        "export jsonl",
        "export critcmp",
    ]
    .map(writer)
    .into()
}

#[test]
fn every_writer_writes_the_same_from_the_file_as_from_the_folder() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in READABLE {
        let whole = report(name);
        for format in [Format::Json, Format::Jsonl] {
            let path = exported(&whole, format, folder.path());
            for writer in writers() {
                let modes = Selection { modes: writer.modes(), ..Selection::default() };
                let selection = Selection { beside: writer.beside(), ..modes };
                let location = Location::at(fixture(name).join("criterion"));
                let read = Report::read(&location, "new", selection).expect("readable");
                let (expected, found) =
                    (write(&writer, &read), write(&writer, &back(&path, selection)));
                assert!(expected == found, "{name}: {writer:?}\n{expected}\n\n{found}");
            }
        }
    }
}

#[test]
fn what_a_filter_left_out_stays_out_and_still_serves_as_baseline() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let filter = Regex::new("int8wo").expect("a valid pattern");
    let selection = Selection { filter: Some(&filter), ..Selection::default() };
    for name in ["two-siblings", "unreached-cases", "compiled-modes", "earlier-runs"] {
        let location = Location::at(fixture(name).join("criterion"));
        let filtered = Report::read(&location, "new", selection).expect("readable");
        let path = exported(&filtered, Format::Json, folder.path());
        let read = back(&path, Selection::default());
        for writer in [writer("csv"), writer("dashboard"), writer("export json")] {
            assert_eq!(write(&writer, &read), write(&writer, &filtered), "{name}: {writer:?}");
        }
    }
}

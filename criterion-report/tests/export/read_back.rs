//! An exported file is worth as much as the folder that it is of.

use std::fs;
use std::path::{Path, PathBuf};

use criterion_report::cli::writer::Writer;
use criterion_report::export::Format;
use criterion_report::read::{Exported, Report, Selection};
use regex::Regex;
use serde_json::{Value, json};

use crate::common::{
    READABLE, SEVERAL_RUNS, fixture, location, report, text_and_notes, try_report, write,
};
use crate::export::{TARGET, writer};

fn exported(report: &Report, format: Format, folder: &Path) -> PathBuf {
    let (text, _) = text_and_notes(&Writer::Export(format), report, TARGET).expect("written");
    let path = folder.join("report");
    fs::write(&path, text).expect("a temporary file");
    path
}

fn back(path: &Path, selection: Selection<'_>) -> Report {
    match Exported::read(path).expect("readable") {
        Exported::Report { mut inputs, baseline } => {
            inputs.retain(&selection);
            Report::new(*inputs, &baseline, selection)
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
            let path = exported(&whole, format.clone(), folder.path());
            // A difference between the two shows in what is written of them.
            let writers = match format {
                Format::Json => writers(),
                _ => vec![writer("export json")],
            };
            for writer in writers {
                let modes = Selection { modes: writer.modes(), ..Selection::default() };
                let selection = Selection { beside: writer.also_reads(), ..modes };
                let location = location(name);
                let read = Report::read(&location, "new", selection).expect("readable");
                let (expected, found) =
                    (write(&writer, &read), write(&writer, &back(&path, selection)));
                assert!(expected == found, "{name}: {writer:?}\n{expected}\n\n{found}");
            }
        }
    }
}

#[test]
fn several_runs_are_the_same_from_the_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in SEVERAL_RUNS {
        let whole = try_report(name, "main", "").expect("readable");
        for format in [Format::Json, Format::Jsonl] {
            let path = exported(&whole, format, folder.path());
            for writer in writers() {
                let selection = Selection { modes: writer.modes(), ..Selection::default() };
                let location = location(name);
                let read = Report::read(&location, "main", selection).expect("readable");
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
        let location = location(name);
        let filtered = Report::read(&location, "new", selection).expect("readable");
        let path = exported(&filtered, Format::Json, folder.path());
        let read = back(&path, Selection::default());
        for writer in [writer("csv"), writer("dashboard"), writer("export json")] {
            assert_eq!(write(&writer, &read), write(&writer, &filtered), "{name}: {writer:?}");
        }
    }
}

/// Reads `text`, or returns the error.
fn read(text: &str) -> Result<Exported, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("f.json");
    fs::write(&path, text).expect("a temporary file");
    let folder = folder.path().display().to_string();
    Exported::read(&path).map_err(|error| error.to_string().replace(&folder, "…"))
}

#[test]
fn what_is_no_export_says_what_it_is() {
    let json = write(&writer("export json"), &report("two-siblings"));
    for (text, expected) in [
        ("", "…/f.json: not an export of results: it is empty; write one with"),
        ("{", "…/f.json: EOF while parsing an object at line 1 column 1; export it again"),
        ("[1]", "…/f.json: not an export of results: invalid"),
        ("a,b\n1,2\n", "…/f.json: not an export of results: expected value at line 1 column 1"),
        ("{\"a\": 1}", "…/f.json: not an export of results: it has neither `schema` nor `benchm"),
        (r#"{"schema":"x/y"}"#, "…/f.json: not an export of results: its schema is `x/y`; write"),
        (
            r#"{"schema":"criterion-torch/report","version":2,"tool":{"name":"criterion-report","version":"9.1.0"},"cases":7}"#,
            "…/f.json: version 2 of `criterion-torch/report`, but this criterion-report (0.1.0) \
             reads version 1: read it with the criterion-report that wrote it (criterion-report \
             9.1.0)",
        ),
        (&json[..json.len() / 2], "…/f.json: EOF while parsing"),
        (&json.replace(r#""baseline":"new","#, ""), "…/f.json: missing field `baseline`"),
        (r#"{"name":"b","benchmarks":{"a":{}}}"#, "…/f.json: missing field `criterion_benchma"),
    ] {
        match read(text) {
            Ok(read) => panic!("{text} was read: {read:?}"),
            Err(error) => assert!(error.starts_with(expected), "{error}\n{expected}"),
        }
    }
}

#[test]
fn lines_that_are_cut_off_cost_themselves_alone() {
    let text = write(&writer("export jsonl"), &report("interleaved"));
    let lines = text.lines().count();
    let (cut, _) = text.trim_end().rsplit_once(',').expect("the last line has several keys");
    match read(cut).expect("readable") {
        Exported::Report { inputs, .. } => {
            assert_eq!(inputs.cases.len(), lines - 2);
            let [unusable] = &inputs.unreadable[..] else { panic!("{:?}", inputs.unreadable) };
            assert!(unusable.contains(&format!("f.json:{lines}: not a case: EOF")), "{unusable}");
        }
        Exported::Critcmp(_) => panic!("it is a report"),
    }
    let (fewer, _) = text.trim_end().rsplit_once('\n').expect("several lines");
    match read(fewer).expect("readable") {
        Exported::Report { inputs, .. } => {
            let [unusable] = &inputs.unreadable[..] else { panic!("{:?}", inputs.unreadable) };
            let expected = format!("{} cases of {}: cut off", lines - 2, lines - 1);
            assert!(unusable.contains(&expected), "{unusable}");
        }
        Exported::Critcmp(_) => panic!("it is a report"),
    }
}

/// Numbers in a file obey the rules of those in a folder.
#[test]
fn numbers_that_cannot_be_cost_their_case_alone() {
    let text = write(&writer("export json"), &report("interleaved"));
    let whole: Value = serde_json::from_str(&text).expect("JSON");
    let cases = whole["cases"].as_array().expect("a list").len();
    for (key, value, says) in [
        ("/cases/0/criterion/samples/times/0", json!(-1.0), "a sample of -1.0 ns"),
        ("/cases/0/criterion/estimates/median/point_estimate", json!(0.0), "the median 0.0"),
        (
            "/cases/0/record/timestamp",
            json!(u64::MAX),
            "`timestamp` has the value 18446744073709551615",
        ),
    ] {
        let mut bad = whole.clone();
        *bad.pointer_mut(key).expect("it is there") = value;
        match read(&bad.to_string()).expect("readable") {
            Exported::Report { inputs, .. } => {
                assert_eq!(inputs.cases.len(), cases - 1, "{key}");
                let [unusable] = &inputs.unreadable[..] else { panic!("{:?}", inputs.unreadable) };
                assert!(unusable.contains("f.json: ") && unusable.contains(says), "{unusable}");
            }
            Exported::Critcmp(_) => panic!("it is a report"),
        }
    }
    let theirs = fs::read_to_string(fixture("critcmp-export").join("new.json")).expect("readable");
    let mut theirs: Value = serde_json::from_str(&theirs).expect("JSON");
    let benchmarks = theirs["benchmarks"].as_object_mut().expect("an object");
    let before = benchmarks.len();
    let (_, first) = benchmarks.iter_mut().next().expect("there are some");
    first["criterion_estimates_v1"]["median"]["point_estimate"] = json!(-5.0);
    match read(&theirs.to_string()).expect("readable") {
        Exported::Critcmp(baseline) => {
            assert_eq!(baseline.benchmarks.len(), before - 1);
            let [unusable] = &baseline.unreadable[..] else { panic!("{:?}", baseline.unreadable) };
            assert!(unusable.contains("the median -5.0"), "{unusable}");
        }
        Exported::Report { .. } => panic!("it is critcmp's"),
    }
}

/// The fixture is what critcmp 0.1.8 wrote of the same folder.
#[test]
fn critcmps_own_export_is_read_and_ours_is_the_same() {
    let theirs = fs::read_to_string(fixture("critcmp-export").join("new.json")).expect("readable");
    let (ours, _) =
        text_and_notes(&writer("export critcmp"), &report("interleaved"), TARGET).expect("written");
    let value = |text: &str| -> serde_json::Value { serde_json::from_str(text).expect("JSON") };
    assert_eq!(value(&ours), value(&theirs));
    let (Exported::Critcmp(ours), Exported::Critcmp(theirs)) =
        (read(&ours).expect("readable"), read(&theirs).expect("readable"))
    else {
        panic!("they are critcmp's")
    };
    assert_eq!(ours, theirs);
    assert_eq!((theirs.name.as_str(), theirs.benchmarks.len()), ("new", 5));
    let ids: Vec<&str> = theirs.benchmarks.iter().map(|it| it.benchmark.full_id.as_str()).collect();
    assert!(ids.is_sorted(), "{ids:?}");
    assert!(theirs.benchmarks.iter().all(|it| it.estimates.median.point_estimate > 0.0));
}

/// Whatever criterion counts stands there as criterion wrote it; critcmp shows bytes and elements.
#[test]
fn every_throughput_of_criterion_comes_through_critcmps_format() {
    let kinds = [
        json!({"Bytes": 8192}),
        json!({"BytesDecimal": 8000}),
        json!({"Elements": 7}),
        json!({"ElementsAndBytes": {"elements": 7, "bytes": 28}}),
        json!({"Bits": 65536}),
        json!(null),
    ];
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = exported(&report("two-siblings"), Format::Json, folder.path());
    let whole: Value = serde_json::from_slice(&fs::read(&path).expect("written")).expect("JSON");
    for throughput in kinds {
        let mut whole = whole.clone();
        for case in whole["cases"].as_array_mut().expect("a list") {
            case["criterion"]["benchmark"]["throughput"] = throughput.clone();
        }
        fs::write(&path, whole.to_string()).expect("written");
        let text = write(&writer("export critcmp"), &back(&path, Selection::default()));
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let Ok(Exported::Critcmp(read)) = read(&text) else { panic!("it is critcmp's: {text}") };
        assert_eq!(read.benchmarks.len(), 2, "{throughput}");
        for case in read.benchmarks {
            let found = case.benchmark.throughput.unwrap_or_default();
            assert_eq!(found, throughput);
            let pointer = case.benchmark.full_id.replace('/', "~1");
            let pointer = format!("/benchmarks/{pointer}/criterion_benchmark_v1/throughput");
            assert_eq!(value.pointer(&pointer), Some(&throughput), "{text}");
        }
    }
}

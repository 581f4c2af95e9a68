//! Values in records that no measurement has: each is a finding that names the field and the value, and
//! its case has no row of it.

use std::fs;
use std::path::Path;

use criterion_report::read::{Location, Report, Selection, record_of_line};
use serde_json::{Value, json};

const RECORDS: &str = "tests/fixtures/two-siblings/criterion-torch/new/inference.jsonl";
const RUN: &str = "20261120T134000Z-4242";

/// The record of the candidate, with more of what a record can have.
fn record() -> Value {
    let text = fs::read_to_string(RECORDS).expect("readable");
    let mut record: Value =
        serde_json::from_str(text.lines().nth(1).expect("a line")).expect("a record");
    record["weights"] = json!({
        "linears": 1, "quantized": 1, "packed_bytes": 1_052_672, "baseline_bytes": 2_097_152,
        "bits_per_weight": 8.03, "density": 0.5,
    });
    record["pairs"][0]["within"] = json!(0.02);
    record["pairs"][0]["between"] = json!(0.0);
    record["pairs"][0]["steps_ns"] = json!([2.0, 1.0]);
    record["measures"]["clocks"] =
        json!({ "device_ns": 5.0, "host_ns": 6.0, "queue_ns": 1.0, "host_bound": false });
    record["measures"]["energy"] = json!({
        "joules": 0.5, "watts": 12.0, "idle_watts": 3.0, "idle_subtracted": true, "window_s": 1.0,
        "iters": 24, "method": "RAPL package",
    });
    record["judged"] = json!({
        "ns": 5.0, "calls": 640, "compared": 24, "seeds": [7], "checks": [],
    });
    record
}

fn read(record: &Value) -> Result<(), String> {
    record_of_line(record.to_string().as_bytes()).map(|_| ())
}

#[test]
fn impossible_values_are_named() {
    read(&record()).expect("a record");
    for (pointer, value, said) in [
        ("/weights/bits_per_weight", json!(-8.0), "`weights.bits_per_weight` has the value -8"),
        ("/weights/density", json!(1.5), "`weights.density` has the value 1.5"),
        (
            "/weights/packed_bytes",
            json!(u64::MAX),
            "`weights.packed_bytes` has the value 18446744073709551615",
        ),
        ("/pairs/0/low", json!(5e-324), "has the value 0.000"),
        ("/pairs/0/low", json!(1.9), "has the value 1.9, above `high`, 1.83908"),
        ("/pairs/0/high", json!(-1.0), "has the value -1"),
        ("/pairs/0/seconds", json!(-1.0), "has the value -1"),
        ("/pairs/0/within", json!(-1.0), "has the value -1"),
        ("/pairs/0/between", json!(1e30), "has the value 1000000000000000000000000000000"),
        ("/pairs/0/steps_ns", json!([1.0, -2.0]), "has the value -2"),
        ("/pairs/0/confidence_level", json!(95), "has the value 95"),
        ("/planned/noise", json!(-0.1), "`planned.noise` has the value -0.1"),
        ("/measures/latency/mean_ns", json!(-7.0), "`measures.latency.mean_ns` has the value -7"),
        (
            "/measures/latency/p50_ns",
            json!(6_931_570.5),
            "`measures.latency.p50_ns` has the value 6931570.5, above `p90_ns`, 6931570",
        ),
        (
            "/measures/counters/minor_faults",
            json!(-1.0),
            "`measures.counters.minor_faults` has the value -1",
        ),
        (
            "/measures/counters/fault_share",
            json!(1.2),
            "`measures.counters.fault_share` has the value 1.2",
        ),
        ("/measures/clocks/host_ns", json!(-6.0), "`measures.clocks.host_ns` has the value -6"),
        ("/measures/energy/watts", json!(-1.0), "`measures.energy.watts` has the value -1"),
        (
            "/measures/conditions/clock_mhz/min",
            json!(2450.0),
            "`measures.conditions.clock_mhz.min` has the value 2450, above `median`, 2449.9",
        ),
        ("/accuracy/max_abs_error", json!(-0.5), "`accuracy.max_abs_error` has the value -0.5"),
        ("/accuracy/relative_error", json!("-inf"), "`accuracy.relative_error` has the value -inf"),
        ("/judged/ns", json!(-1.0), "`judged.ns` has the value -1"),
        ("/judged/ns", json!(1e30), "`judged.ns` has the value 1000000000000000000000000000000"),
        ("/judged/compared", json!(641), "`judged.compared` has the value 641, above `calls`, 640"),
        ("/environment/quiet/score", json!(98), "`environment.quiet.score` has the value 98"),
    ] {
        let mut record = record();
        *record.pointer_mut(pointer).expect("it is there") = value;
        let why = read(&record).expect_err(pointer);
        let end = "; measure its case again with `cargo bench`";
        assert!(why.starts_with("invalid record skipped: field `") && why.ends_with(end), "{why}");
        assert!(why.contains(said), "{pointer}: {why}");
    }
}

#[test]
fn a_judges_time_is_a_number() {
    let mut record = record();
    for wrong in [json!("nan"), json!([5.0])] {
        record["judged"]["ns"] = wrong.clone();
        assert!(read(&record).is_err(), "{wrong}");
    }
    record["judged"]["ns"] = Value::Null;
    assert_eq!(read(&record), Ok(()), "it failed before there was one");
}

#[test]
fn what_measurements_have_is_possible() {
    for (pointer, value) in [
        ("/measures/energy/joules", json!(-0.001)),
        ("/measures/latency/p50_ns", json!(0.0)),
        ("/measures/counters/fault_share", json!(1.0)),
        ("/accuracy/relative_error", json!("nan")),
        ("/accuracy/max_abs_error", json!(5e-324)),
    ] {
        let mut record = record();
        *record.pointer_mut(pointer).expect("it is there") = value;
        assert_eq!(read(&record), Ok(()), "{pointer}");
    }
}

/// The report from these lines of the two records.
fn report(lines: &[Vec<u8>]) -> Report {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let records = folder.path().join("criterion-torch/new");
    fs::create_dir_all(&records).expect("created");
    fs::write(records.join("inference.jsonl"), lines.join(&b'\n')).expect("written");
    let runs = folder.path().join("criterion-torch/runs");
    fs::create_dir_all(&runs).expect("created");
    let manifest = format!("tests/fixtures/two-siblings/criterion-torch/runs/{RUN}.json");
    fs::copy(manifest, runs.join(format!("{RUN}.json"))).expect("copied");
    let location = Location::at(folder.path().join(Path::new("criterion")));
    Report::read(&location, "new", Selection::default()).expect("a record")
}

#[test]
fn an_invalid_record_costs_its_own_case_alone() {
    let text = fs::read_to_string(RECORDS).expect("readable");
    let lines: Vec<&str> = text.lines().collect();
    let negative = lines[1].replace("\"p50_ns\":6775420", "\"p50_ns\":-6775420");
    assert_ne!(negative, lines[1]);
    let torn = lines[1].replace("custom", "\u{fffd}").into_bytes();
    let at = torn.windows(3).position(|bytes| bytes == b"\xef\xbf\xbd").expect("it is there");
    let not_utf_8 = [&torn[..at], b"\xff", &torn[at + 3..]].concat();
    for line in [negative.into_bytes(), not_utf_8] {
        let report = report(&[line.clone(), lines[0].as_bytes().to_vec()]);
        let rows: Vec<&str> = report.entries().map(|entry| entry.row.full_id()).collect();
        assert_eq!(rows, ["inference/quick/linear/cpu/baseline/bf16-1024x1024x1024"]);
        let of_records = |line: &&String| line.contains("inference.jsonl:1: ");
        assert_eq!(
            report.unreadable.iter().filter(of_records).count(),
            1,
            "{:?}",
            report.unreadable
        );
        let [missing] = report.missing.as_slice() else { panic!("{:?}", report.missing) };
        let expected = format!("the record that run {RUN} left of this case is cut off or invalid");
        assert_eq!(missing.reason, expected);
        // A later line that can be used takes its place.
        let again =
            self::report(&[line, lines[0].as_bytes().to_vec(), lines[1].as_bytes().to_vec()]);
        assert_eq!((again.entries().count(), again.missing.len()), (2, 0));
    }
}

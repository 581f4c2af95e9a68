//! `validate` against files of every kind, and each trap by itself.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use criterion_report::read::database::{Severity, validate};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::common::{READABLE, report, text_and_notes};
use crate::export::{TARGET, writer};

/// Validates these files; returns the output and the exit code.
fn run(arguments: &[&str]) -> (String, i32) {
    let files = arguments.iter().map(|it| match it.strip_prefix("--") {
        Some(_) => (*it).to_owned(),
        None => format!("tests/fixtures/database/{it}"),
    });
    let output = Command::new(env!("CARGO_BIN_EXE_criterion-report"))
        .arg("validate")
        .args(files)
        .output()
        .expect("the program starts");
    let text = [output.stdout, output.stderr].map(|it| String::from_utf8(it).expect("text"));
    (text.concat(), output.status.code().expect("an exit code"))
}

#[test]
fn files_of_every_kind() {
    for (name, code) in [
        ("list.json", 0),
        ("single-object.json", 0),
        ("lines-with-a-nested-list.json", 0),
        ("junk-records.json", 1),
        ("torchao-empty-runners.json", 0),
        ("oom-as-zero.json", 1),
        ("lines.jsonl", 1),
        ("no-json.json", 2),
    ] {
        let (text, found) = run(&[name]);
        assert_eq!(found, code, "{name}: {text}");
        if text.lines().count() > 1 {
            assert_snapshot!(format!("validate-{name}"), text);
        }
    }
    assert_eq!(run(&["--strict", "list.json"]).1, 0);
    assert_eq!(run(&["--strict", "torchao-empty-runners.json"]).1, 1, "warnings are errors");
    let (text, code) = run(&["list.json", "below/list.json"]);
    assert!(code == 1 && text.contains("error[same-name]"), "{text}");
    let (text, code) = run(&["list.json", "below/single-object.json"]);
    assert!(code == 0 && text.contains("warning[folder]"), "{text}");
    let (text, code) = run(&["no-json.json", "list.json"]);
    assert!(code == 2 && text.starts_with("1 file checked: 0 errors"), "{text}");
}

/// A bad line costs itself only: the others are checked, and the exit code says that one was bad.
#[test]
fn a_line_that_is_no_json_is_named_and_the_rest_is_checked() {
    let (text, code) = run(&["torn-line.json"]);
    assert_eq!(code, 2, "{text}");
    assert_snapshot!("validate-torn-line.json", text);
}

fn record() -> Value {
    json!({
        "benchmark": {
            "name": "b", "mode": "inference", "dtype": "int8wo",
            "extra_info": {"device": "cpu", "arch": "a", "use_compile": "true", "compile": "true"},
        },
        "model": {"name": "m", "type": "t", "backend": "libtorch", "origins": ["torchao"]},
        "metric": {"name": "time (us)", "benchmark_values": [12.5], "target_value": 0.0},
    })
}

/// `code at` each place that is found in records of one file.
fn found(records: &Value) -> Vec<String> {
    found_in(&records.to_string())
}

/// [`found`] for a file's text.
fn found_in(text: &str) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("records.json");
    fs::write(&path, text).expect("written");
    let checked = validate(&[path]);
    assert!(checked.unreadable.is_empty(), "{checked:?}");
    checked.findings.iter().map(|it| format!("{} {}", it.trap.entry().0, it.path)).collect()
}

/// As the writers of PyTorch and vLLM leave them.
#[test]
fn what_the_server_takes_is_no_error() {
    let mut taken = record();
    taken["metric"]["target_value"] = json!(null);
    taken["model"]["origins"] = json!(null);
    taken["benchmark"]["extra_info"]["args"] = json!({"compile": true, "sizes": [1, 2]});
    taken["run_attempt"] = json!("2");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("records.json");
    fs::write(&path, json!([taken]).to_string()).expect("written");
    let checked = validate(&[path]);
    let found: Vec<_> = checked.findings.iter().map(|it| it.trap.entry().0).collect();
    assert_eq!(checked.count(Severity::Error), 0, "{found:?}");
    assert_eq!(found.len(), 4, "each is a remark: {found:?}");
}

#[test]
fn each_trap_by_itself() {
    assert_eq!(found(&json!([record()])), Vec::<String>::new());
    for (path, value, expected) in [
        ("/extra", json!(1), "unknown-key /extra"),
        ("/timestamp", json!(1_795_182_000_000_u64), "milliseconds /timestamp"),
        ("/timestamp", json!("now"), "wrong-type /timestamp"),
        ("/run_attempt", json!(4_294_967_296_u64), "wrong-type /run_attempt"),
        ("/runners", json!([]), "empty-runners /runners"),
        ("/runners", json!([{"cpu_count": 1.5}]), "wrong-type /runners/0/cpu_count"),
        ("/runners", json!(["cpu"]), "wrong-type /runners/0"),
        ("/runners", json!([{"cpus": 4, "name": "cpu"}]), "unknown-key /runners/0/cpus"),
        ("/repo", json!(""), "no-job /repo"),
        ("/workflow_id", json!(0), "no-job /workflow_id"),
        ("/job_id", json!(0), "no-job /job_id"),
        ("/inputs", json!({"x": "f32"}), "wrong-type /inputs/x"),
        ("/inputs", json!({"a/b": {"dtype": 1}}), "converted /inputs/a~1b/dtype"),
        ("/dependencies", json!({"torch": "2.11.0"}), "wrong-type /dependencies/torch"),
        (
            "/dependencies",
            json!({"torch": {"version": 2.11}}),
            "converted /dependencies/torch/version",
        ),
        ("/dependencies", json!({}), "empty-dependencies /dependencies"),
        (
            "/dependencies",
            json!({"torch": {"extra_info": {"a": 1}}}),
            "not-a-string /dependencies/torch/extra_info/a",
        ),
        ("/benchmark/name", json!(""), "no-name /benchmark/name"),
        ("/model/name", json!(null), "no-name /model/name"),
        ("/model/origins", json!("torchao"), "wrong-type /model/origins"),
        ("/model/extra_info", json!({"a": [1]}), "nested-value /model/extra_info/a"),
        ("/model/extra_info", json!({"a/~b": 1}), "not-a-string /model/extra_info/a~1~0b"),
        ("/model/extra_info", json!("m=1"), "wrong-type /model/extra_info"),
        ("/metric/unit", json!("ms"), "unknown-key /metric/unit"),
        ("/benchmark/extra_info/a", json!(true), "not-a-string /benchmark/extra_info/a"),
        ("/metric/name", json!(""), "no-name /metric/name"),
        ("/metric/benchmark_values", json!([]), "no-values /metric/benchmark_values"),
        ("/metric/benchmark_values", json!(12.5), "no-values /metric/benchmark_values"),
        ("/metric/benchmark_values/0", json!("12.5"), "converted /metric/benchmark_values/0"),
        ("/metric/benchmark_values/0", json!(1e39), "float32 /metric/benchmark_values/0"),
        (
            "/metric/benchmark_values/0",
            json!(16_777_217),
            "rounded-integer /metric/benchmark_values/0",
        ),
        ("/metric/benchmark_values/0", json!(0.0), "not-positive /metric/benchmark_values/0"),
        ("/metric/benchmark_values/0", json!(-0.3), "not-positive /metric/benchmark_values/0"),
        ("/metric/benchmark_values/0", json!(0.129), "two-decimals /metric/benchmark_values"),
        ("/metric/target_value", json!(1e39), "float32 /metric/target_value"),
        ("/metric/target_value", json!("0"), "converted /metric/target_value"),
        ("/metric/target_value", json!(null), "null /metric/target_value"),
        ("/metric/target_value", json!("high"), "wrong-type /metric/target_value"),
        ("/model/origins", json!(null), "null /model/origins"),
        ("/model/origins", json!([null]), "null /model/origins/0"),
        ("/model/extra_info", json!(null), "null /model/extra_info"),
        ("/model/backend", json!(3), "converted /model/backend"),
        ("/run_attempt", json!("2"), "converted /run_attempt"),
        ("/run_attempt", json!(true), "converted /run_attempt"),
        ("/run_attempt", json!("-2"), "wrong-type /run_attempt"),
        ("/runners", json!([{"name": {"a": 1}}]), "converted /runners/0/name"),
        (
            "/benchmark/extra_info/failure_type",
            json!("oom"),
            "failed-with-value /metric/benchmark_values/0",
        ),
    ] {
        let mut record = record();
        let (parent, key) = path.rsplit_once('/').expect("a path");
        match record.pointer_mut(parent).expect("it is there") {
            Value::Array(items) => items[0] = value.clone(),
            parent => parent[key] = value.clone(),
        }
        assert_eq!(found(&json!([record])), [expected], "{path} = {value}");
    }
    for (path, expected) in [
        ("/metric", "no-metric /metric"),
        ("/benchmark/extra_info/use_compile", "no-use-compile /benchmark/extra_info/use_compile"),
        ("/benchmark/extra_info/compile", "no-use-compile /benchmark/extra_info/compile"),
    ] {
        let mut record = record();
        let (parent, key) = path.rsplit_once('/').expect("a path");
        record.pointer_mut(parent).expect("it is there").as_object_mut().expect("it").remove(key);
        assert_eq!(found(&json!([record])), [expected], "{path}");
    }
    let mut record = record();
    record["a/~b"] = json!(1);
    assert_eq!(found(&json!([record])), ["unknown-key /a~1~0b"]);
    assert_eq!(found(&json!([])), ["no-record "]);
    assert_eq!(found_in(""), ["no-record "]);
    assert_eq!(found(&json!(["x"])), ["not-a-record "]);
}

/// NaN and infinite numbers as Python writes them are reported once, at their place.
#[test]
fn a_number_that_is_none_is_said_once() {
    for (path, value) in [
        ("/metric/benchmark_values/0", "NaN"),
        ("/metric/benchmark_values/0", "-Infinity"),
        ("/metric/benchmark_values/0", "1e999"),
        ("/metric/target_value", "NaN"),
        ("/benchmark/extra_info/arch", "Infinity"),
        ("/model/name", "NaN"),
    ] {
        let mut record = record();
        *record.pointer_mut(path).expect("it is there") = json!("HERE");
        let text = record.to_string().replace("\"HERE\"", value);
        assert_eq!(found_in(&text), [format!("not-finite {path}")], "{value}");
    }
}

#[test]
fn a_byte_order_mark_is_a_trap_of_its_own() {
    let list = json!([record()]).to_string();
    assert_eq!(found_in(&format!("\u{feff}{list}")), ["byte-order-mark "]);
}

/// The mean is what dashboards cut.
#[test]
fn of_several_values_the_mean_keeps_its_digits_or_does_not() {
    let mut record = record();
    record["metric"]["benchmark_values"] = json!([0.011, 20.0]);
    assert_eq!(found(&json!([record])), Vec::<String>::new());
    record["metric"]["benchmark_values"] = json!([0.011, 0.02]);
    assert_eq!(found(&json!([record])), ["two-decimals /metric/benchmark_values"]);
}

#[test]
fn a_stand_in_of_the_service_lab_is_a_job() {
    let mut record = record();
    record["workflow_id"] = json!(0);
    record["servicelab_experiment_id"] = json!(7);
    assert_eq!(found(&json!([record])), Vec::<String>::new());
}

/// Without a device of its own a record has that of its runner, or of the uploader's where it has none.
#[test]
fn a_device_comes_from_somewhere() {
    let mut record = record();
    record["benchmark"]["extra_info"]["device"] = json!("");
    assert_eq!(found(&json!([record])), Vec::<String>::new());
    record["runners"] = json!([{"name": "cpu"}]);
    assert_eq!(found(&json!([record])), Vec::<String>::new());
    record["runners"] = json!([{"type": "x"}]);
    assert_eq!(found(&json!([record])), ["no-device /benchmark/extra_info/device"]);
}

#[test]
fn only_what_dashboards_group_by_keeps_series_apart() {
    let (first, mut second) = (record(), record());
    assert_eq!(found(&json!([first, second])), ["same-series /metric/name"]);
    second["benchmark"]["extra_info"]["group_size"] = json!("64");
    assert_eq!(found(&json!([first, second])), ["same-series /metric/name"]);
    for path in [
        "/model/name",
        "/model/backend",
        "/benchmark/dtype",
        "/benchmark/mode",
        "/benchmark/name",
        "/metric/name",
    ] {
        let mut other = first.clone();
        *other.pointer_mut(path).expect("it is there") = json!("another");
        assert_eq!(found(&json!([first, other])), Vec::<String>::new(), "{path}");
    }
    let mut other = first.clone();
    other["benchmark"]["extra_info"]["use_compile"] = json!("false");
    assert_eq!(found(&json!([first, other])), Vec::<String>::new());
    // A runner's name and type hide what the benchmark says of both.
    let with = |arch: &str, kind: &str| {
        let mut record = first.clone();
        record["benchmark"]["extra_info"]["arch"] = json!(arch);
        record["runners"] = json!([{"name": "cpu", "type": kind}]);
        record
    };
    assert_eq!(found(&json!([with("a", "t"), with("b", "t")])), ["same-series /metric/name"]);
    assert_eq!(found(&json!([with("a", "t"), with("a", "u")])), Vec::<String>::new());
}

/// A time in ms loses nothing where it is there in µs, too.
#[test]
fn a_time_in_two_units_is_not_cut() {
    let (mut ms, mut us) = (record(), record());
    ms["metric"]["name"] = json!("time (ms)");
    ms["metric"]["benchmark_values"] = json!([0.0125]);
    assert_eq!(found(&json!([ms])), ["two-decimals /metric/benchmark_values"]);
    assert_eq!(found(&json!([ms, us])), Vec::<String>::new());
    us["model"]["name"] = json!("another");
    assert_eq!(found(&json!([ms, us])).len(), 1);
}

#[test]
fn our_own_dashboards_have_no_error_and_upstreams_form_its_known_ones() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut checked = 0;
    let check = |command: &str, fixture: &str| {
        let (text, _) = text_and_notes(&writer(command), &report(fixture), TARGET).ok()?;
        let path: PathBuf = folder.path().join("records.json");
        fs::write(&path, text).expect("written");
        Some(validate(&[path]).findings)
    };
    for name in READABLE {
        for command in ["dashboard", "dashboard --jsonl"] {
            let Some(findings) = check(command, name) else { continue };
            let errors: Vec<_> =
                findings.iter().filter(|it| it.trap.severity() == Severity::Error).collect();
            assert!(errors.is_empty(), "{name}: {errors:#?}");
            checked += 1;
        }
    }
    assert!(checked > 40, "only {checked}");
    let findings = check("dashboard --torchao-compat", "two-siblings").expect("written");
    let codes: Vec<&str> = findings.iter().map(|it| it.trap.entry().0).collect();
    assert!(codes.contains(&"empty-runners") && codes.contains(&"empty-dependencies"), "{codes:?}");
}

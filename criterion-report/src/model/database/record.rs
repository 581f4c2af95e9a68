//! One record, key by key.

use serde_json::{Map, Value};

use super::{Series, Trap, is_storable};

/// A trap, the JSON pointer of its place, and what stands there.
type Found = (Trap, String, String);

/// Columns of the table.
const COLUMNS: [&str; 17] = [
    "timestamp",
    "schema_version",
    "name",
    "repo",
    "head_branch",
    "head_sha",
    "workflow_id",
    "run_attempt",
    "job_id",
    "servicelab_experiment_id",
    "servicelab_trial_id",
    "runners",
    "benchmark",
    "model",
    "inputs",
    "dependencies",
    "metric",
];

/// What a column takes.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Texts,
    Number,
    /// A whole number of so many bits, without a sign.
    Unsigned(u32),
    Object,
    List,
}

/// Single values of a record, where they are given.
const TYPES: &[(&str, Kind)] = &[
    ("/timestamp", Kind::Unsigned(64)),
    ("/schema_version", Kind::Text),
    ("/name", Kind::Text),
    ("/repo", Kind::Text),
    ("/head_branch", Kind::Text),
    ("/head_sha", Kind::Text),
    ("/workflow_id", Kind::Unsigned(64)),
    ("/run_attempt", Kind::Unsigned(32)),
    ("/job_id", Kind::Unsigned(64)),
    ("/servicelab_experiment_id", Kind::Unsigned(64)),
    ("/servicelab_trial_id", Kind::Unsigned(64)),
    ("/runners", Kind::List),
    ("/benchmark", Kind::Object),
    ("/benchmark/mode", Kind::Text),
    ("/benchmark/dtype", Kind::Text),
    ("/benchmark/extra_info", Kind::Object),
    ("/model", Kind::Object),
    ("/model/type", Kind::Text),
    ("/model/backend", Kind::Text),
    ("/model/origins", Kind::Texts),
    ("/model/extra_info", Kind::Object),
    ("/inputs", Kind::Object),
    ("/dependencies", Kind::Object),
    ("/metric/target_value", Kind::Number),
    ("/metric/extra_info", Kind::Object),
];

/// Those of a runner.
const RUNNER: &[(&str, Kind)] = &[
    ("/name", Kind::Text),
    ("/type", Kind::Text),
    ("/cpu_info", Kind::Text),
    ("/cpu_count", Kind::Unsigned(32)),
    ("/mem_info", Kind::Text),
    ("/avail_mem_in_gb", Kind::Unsigned(32)),
    ("/gpu_info", Kind::Text),
    ("/gpu_count", Kind::Unsigned(32)),
    ("/gpu_mem_info", Kind::Text),
    ("/avail_gpu_mem_in_gb", Kind::Unsigned(32)),
    ("/extra_info", Kind::Object),
];

/// Seconds of the year 5138; milliseconds of 1973.
const LATEST: u64 = 100_000_000_000;
/// The largest number up to which 32-bit floats hold every whole number.
const WHOLE: f64 = 16_777_216.0;

/// By what dashboards know the record; none of what they do not draw.
pub fn series(record: &Value) -> Option<Series<'_>> {
    let text = |path: &str| record.pointer(path).and_then(Value::as_str);
    text("/metric/name").filter(|name| !name.is_empty())?;
    Some(Series::new([
        text("/benchmark/dtype"),
        text("/benchmark/extra_info/arch").or_else(|| text("/runners/0/type")),
        text("/benchmark/extra_info/device").or_else(|| text("/runners/0/name")),
        text("/model/backend"),
        text("/metric/name"),
        text("/benchmark/mode"),
        text("/model/name"),
        text("/benchmark/extra_info/use_compile"),
    ]))
}

pub fn check(record: &Value) -> Vec<Found> {
    let Some(fields) = record.as_object() else {
        return vec![(Trap::NotARecord, String::new(), brief(record))];
    };
    let mut found = Vec::new();
    let unknown = fields.keys().filter(|key| !COLUMNS.contains(&key.as_str()));
    found.extend(unknown.map(|key| (Trap::UnknownKey, format!("/{key}"), format!("`{key}`"))));
    found.extend(types(record, "", TYPES));
    let runners = record.get("runners").and_then(Value::as_array);
    for (index, runner) in runners.into_iter().flatten().enumerate() {
        found.extend(types(runner, &format!("/runners/{index}"), RUNNER));
    }
    found.extend(names(record));
    found.extend(metric(record));
    found.extend(filled_in(record));
    found.extend(circumstances(record));
    maps(record, "", &mut found);
    found
}

fn types(value: &Value, prefix: &str, types: &[(&str, Kind)]) -> Vec<Found> {
    let mut found = Vec::new();
    for (path, kind) in types {
        let Some(value) = value.pointer(path) else { continue };
        let fits = match kind {
            Kind::Text => value.is_string(),
            Kind::Texts => value.as_array().is_some_and(|it| it.iter().all(Value::is_string)),
            Kind::Number => value.is_number(),
            Kind::Unsigned(bits) => value.as_u64().is_some_and(|it| it <= u64::MAX >> (64 - bits)),
            Kind::Object => value.is_object(),
            Kind::List => value.is_array(),
        };
        if !fits {
            found.push((Trap::WrongType, format!("{prefix}{path}"), brief(value)));
        }
    }
    found
}

fn names(record: &Value) -> Vec<Found> {
    let mut found = Vec::new();
    for path in ["/benchmark/name", "/model/name", "/metric/name"] {
        let value = record.pointer(path);
        let named = value.and_then(Value::as_str).is_some_and(|name| !name.is_empty());
        // Without a metric there is more to be said.
        if !named && (path != "/metric/name" || record.get("metric").is_some()) {
            found.push((Trap::NoName, path.to_owned(), value.map_or_else(absent, brief)));
        }
    }
    found
}

fn metric(record: &Value) -> Vec<Found> {
    if record.get("metric").is_none() {
        return vec![(Trap::NoMetric, "/metric".to_owned(), absent())];
    }
    let path = "/metric/benchmark_values";
    let value = record.pointer(path);
    let Some(values) = value.and_then(Value::as_array).filter(|values| !values.is_empty()) else {
        return vec![(Trap::NoValues, path.to_owned(), value.map_or_else(absent, brief))];
    };
    let failed = record.pointer("/benchmark/extra_info/failure_type").is_some();
    let counted = record.pointer("/metric/name").and_then(Value::as_str) == Some(FAILURE_REPORT);
    let mut found = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let place = format!("{path}/{index}");
        match value.as_f64() {
            None => found.push((Trap::WrongType, place, brief(value))),
            Some(_) if failed && !counted => {
                found.push((Trap::FailedWithValue, place, value.to_string()));
            }
            Some(number) => {
                found.extend(number_trap(number).map(|it| (it, place, value.to_string())))
            }
        }
    }
    found
}

/// The metric that counts failures.
const FAILURE_REPORT: &str = "FAILURE_REPORT";

fn number_trap(value: f64) -> Option<Trap> {
    let shown = (value * 100.0).floor() / 100.0;
    if !is_storable(value) {
        Some(Trap::Float32)
    } else if value <= 0.0 {
        Some(Trap::NotPositive)
    } else if value > WHOLE && value.fract() == 0.0 && f64::from(value as f32) != value {
        Some(Trap::RoundedInteger)
    } else {
        ((value - shown) / value > 0.01).then_some(Trap::TwoDecimals)
    }
}

/// What the uploader fills in only where it is absent.
fn filled_in(record: &Value) -> Vec<Found> {
    let is_empty = |key: &str| match record.get(key) {
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(fields)) => fields.is_empty(),
        _ => false,
    };
    [("runners", Trap::EmptyRunners), ("dependencies", Trap::EmptyDependencies)]
        .into_iter()
        .filter(|(key, _)| is_empty(key))
        .map(|(key, trap)| (trap, format!("/{key}"), brief(&record[key])))
        .collect()
}

/// What dashboards filter and group by.
fn circumstances(record: &Value) -> Vec<Found> {
    let mut found = Vec::new();
    let text = |path: &str| record.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let by_hand = !text("/benchmark/extra_info/device").is_empty();
    // Where the key is absent, the uploader knows the device.
    let by_runner = record.get("runners").is_none() || !text("/runners/0/name").is_empty();
    if !by_hand && !by_runner {
        found.push((Trap::NoDevice, "/benchmark/extra_info/device".to_owned(), absent()));
    }
    for key in ["use_compile", "compile"] {
        let path = format!("/benchmark/extra_info/{key}");
        if record.pointer(&path).is_none() {
            found.push((Trap::NoUseCompile, path, absent()));
        }
    }
    if let Some(timestamp) = record.get("timestamp").and_then(Value::as_u64)
        && timestamp > LATEST
    {
        found.push((Trap::Milliseconds, "/timestamp".to_owned(), timestamp.to_string()));
    }
    found
}

/// Every `extra_info`, wherever it stands.
fn maps(value: &Value, path: &str, found: &mut Vec<Found>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let place = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                match value {
                    Value::Object(map) if key == "extra_info" => strings(map, &place, found),
                    other => maps(other, &place, found),
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                maps(item, &format!("{path}/{index}"), found);
            }
        }
        _ => {}
    }
}

fn strings(map: &Map<String, Value>, path: &str, found: &mut Vec<Found>) {
    for (key, value) in map {
        let trap = match value {
            Value::String(_) => continue,
            Value::Object(_) | Value::Array(_) => Trap::NestedValue,
            Value::Null | Value::Bool(_) | Value::Number(_) => Trap::NotAString,
        };
        found.push((trap, format!("{path}/{key}"), brief(value)));
    }
}

fn absent() -> String {
    "absent".to_owned()
}

/// A value on part of a line.
fn brief(value: &Value) -> String {
    const MOST: usize = 40;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

//! One record, key by key.

use std::borrow::Cow;

use serde_json::Value;

use super::columns::{self, trap};
use super::text::{brief, not_finite};
use super::trap::Found;
use super::{Trap, pointer};

/// Seconds of the year 5138; milliseconds of 1973.
const LATEST: u64 = 100_000_000_000;
/// The largest number up to which 32-bit floats hold every whole number.
const WHOLE: f64 = 16_777_216.0;

/// Whether the database can hold the value: its columns have 32 bits, and JSON no infinity.
pub fn is_storable(value: f64) -> bool {
    (value as f32).is_finite()
}

/// By what dashboards know a series; the branch is the upload's.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Series<'a>([Cow<'a, str>; 9]);

impl<'a> Series<'a> {
    /// In this order: dtype, arch, device, backend, metric, mode, model, use_compile, without which
    /// dashboards of torchao take `false`, and the benchmark, by which each dashboard has its own.
    pub fn new(parts: [Option<&'a str>; 9]) -> Self {
        let mut parts = parts.map(|part| Cow::Borrowed(part.unwrap_or_default()));
        if parts[7].is_empty() {
            parts[7] = "false".into();
        }
        Self(parts)
    }

    pub fn into_owned(self) -> Series<'static> {
        Series(self.0.map(|part| Cow::Owned(part.into_owned())))
    }

    pub fn metric(&self) -> &str {
        &self.0[4]
    }

    pub fn model(&self) -> &str {
        &self.0[6]
    }

    /// This time in the finer unit, if it is in ms.
    pub fn in_microseconds(&self) -> Option<Self> {
        let mut finer = self.clone();
        finer.0[4] = finer.0[4].strip_suffix("(ms)").map(|name| format!("{name}(us)"))?.into();
        Some(finer)
    }
}

/// The key by which dashboards know the record; `None` if they do not draw it. A runner's value
/// comes before the benchmark's.
pub fn series(record: &Value) -> Option<Series<'_>> {
    let text = |path: &str| given(record, path);
    text("/metric/name")?;
    Some(Series::new([
        text("/benchmark/dtype"),
        text("/runners/0/type").or_else(|| text("/benchmark/extra_info/arch")),
        text("/runners/0/name").or_else(|| text("/benchmark/extra_info/device")),
        text("/model/backend"),
        text("/metric/name"),
        text("/benchmark/mode"),
        text("/model/name"),
        text("/benchmark/extra_info/use_compile"),
        text("/benchmark/name"),
    ]))
}

/// A text that says something.
fn given<'a>(record: &'a Value, path: &str) -> Option<&'a str> {
    record.pointer(path).and_then(Value::as_str).filter(|text| !text.is_empty())
}

pub fn check(record: &Value) -> Vec<Found> {
    if !record.is_object() {
        return vec![(Trap::NotARecord, String::new(), brief(record))];
    }
    let mut found = Vec::new();
    words(record, "", &mut found);
    columns::check(record, &mut found);
    found.extend(names(record));
    found.extend(metric(record));
    found.extend(filled_in(record));
    found.extend(upload(record));
    found.extend(circumstances(record));
    found
}

/// Numbers that are none, wherever they stand.
fn words(value: &Value, path: &str, found: &mut Vec<Found>) {
    if let Some(word) = not_finite(value) {
        found.push((Trap::NotFinite, path.to_owned(), word.to_owned()));
    }
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| words(value, &pointer(path, key), found));
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                words(item, &format!("{path}/{index}"), found);
            }
        }
        _ => {}
    }
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
    let counted = record.pointer("/metric/name").and_then(Value::as_str) == Some(FAILURE_REPORT);
    let failed = !counted && record.pointer("/benchmark/extra_info/failure_type").is_some();
    let mut found = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let trap = number_trap(value, failed);
        found.extend(trap.map(|trap| (trap, format!("{path}/{index}"), brief(value))));
    }
    if found.is_empty() {
        let cut = loses_digits(values).map(|shown| (Trap::TwoDecimals, path.to_owned(), shown));
        found.extend(cut);
    }
    let target = record.pointer("/metric/target_value").and_then(Value::as_f64);
    if let Some(target) = target.filter(|target| !is_storable(*target)) {
        found.push((Trap::Float32, "/metric/target_value".to_owned(), target.to_string()));
    }
    found
}

const FAILURE_REPORT: &str = "FAILURE_REPORT";

fn number_trap(value: &Value, failed: bool) -> Option<Trap> {
    let Some(number) = value.as_f64() else {
        let trap = if value.is_null() { Trap::Null } else { trap(Some("number"), value) };
        return not_finite(value).is_none().then_some(trap);
    };
    if failed {
        Some(Trap::FailedWithValue)
    } else if !is_storable(number) {
        Some(Trap::Float32)
    } else if number <= 0.0 {
        Some(Trap::NotPositive)
    } else {
        let is_rounded = number.fract() == 0.0 && f64::from(number as f32) != number;
        (number > WHOLE && is_rounded).then_some(Trap::RoundedInteger)
    }
}

/// The mean, which is what dashboards show, if less than three digits are left of it.
fn loses_digits(values: &[Value]) -> Option<String> {
    let numbers: Option<Vec<f64>> = values.iter().map(Value::as_f64).collect();
    let mean = numbers?.iter().sum::<f64>() / values.len() as f64;
    let shown = (mean * 100.0).floor() / 100.0;
    let loses = (mean - shown) / mean > 0.01;
    loses.then(|| if values.len() == 1 { mean.to_string() } else { format!("mean {mean}") })
}

/// Keys that the uploader fills in only where they are absent.
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

/// Empty keys that replace the upload's own.
fn upload(record: &Value) -> Vec<Found> {
    let is_nothing = |key: &str| record.get(key).is_some_and(|it| it == "" || *it == 0);
    let stands_in = |key: &str| record.get(key).and_then(Value::as_u64).is_some_and(|it| it > 0);
    let job = [
        ("repo", None),
        ("workflow_id", Some("servicelab_experiment_id")),
        ("job_id", Some("servicelab_trial_id")),
    ];
    let nothing =
        job.into_iter().filter(|(key, other)| is_nothing(key) && !other.is_some_and(stands_in));
    nothing.map(|(key, _)| (Trap::NoJob, format!("/{key}"), brief(&record[key]))).collect()
}

/// The keys that dashboards filter and group by.
fn circumstances(record: &Value) -> Vec<Found> {
    let mut found = Vec::new();
    let by_hand = given(record, "/benchmark/extra_info/device").is_some();
    // If the key is absent, the uploader knows the device.
    let by_runner = record.get("runners").is_none() || given(record, "/runners/0/name").is_some();
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

fn absent() -> String {
    "absent".to_owned()
}

//! The columns of the table, and what happens to values that they do not take.

use serde_json::{Map, Value};

use super::trap::Found;
use super::{Trap, pointer, text};

enum Column {
    Text,
    Texts,
    Number,
    /// A whole number of so many bits, without a sign.
    Unsigned(u32),
    /// A map of strings.
    Strings,
    /// Values by these names.
    Tuple(&'static [(&'static str, Column)]),
    List(&'static Column),
    /// The same by names of one's own.
    Map(&'static Column),
    /// A column with traps of its own.
    Elsewhere,
}

use Column::{Elsewhere, List, Number, Strings, Text, Texts, Tuple, Unsigned};

const RECORD: Column = Tuple(&[
    ("timestamp", Unsigned(64)),
    ("schema_version", Text),
    ("name", Text),
    ("repo", Text),
    ("head_branch", Text),
    ("head_sha", Text),
    ("workflow_id", Unsigned(64)),
    ("run_attempt", Unsigned(32)),
    ("job_id", Unsigned(64)),
    ("servicelab_experiment_id", Unsigned(64)),
    ("servicelab_trial_id", Unsigned(64)),
    ("runners", List(&RUNNER)),
    (
        "benchmark",
        Tuple(&[("name", Elsewhere), ("mode", Text), ("dtype", Text), ("extra_info", Strings)]),
    ),
    (
        "model",
        Tuple(&[
            ("name", Elsewhere),
            ("type", Text),
            ("backend", Text),
            ("origins", Texts),
            ("extra_info", Strings),
        ]),
    ),
    ("inputs", Column::Map(&Tuple(&[("dtype", Text), ("extra_info", Strings)]))),
    ("dependencies", Column::Map(&DEPENDENCY)),
    (
        "metric",
        Tuple(&[
            ("name", Elsewhere),
            ("benchmark_values", Elsewhere),
            ("target_value", Number),
            ("extra_info", Strings),
        ]),
    ),
]);

const RUNNER: Column = Tuple(&[
    ("name", Text),
    ("type", Text),
    ("cpu_info", Text),
    ("cpu_count", Unsigned(32)),
    ("mem_info", Text),
    ("avail_mem_in_gb", Unsigned(32)),
    ("gpu_info", Text),
    ("gpu_count", Unsigned(32)),
    ("gpu_mem_info", Text),
    ("avail_gpu_mem_in_gb", Unsigned(32)),
    ("extra_info", Strings),
]);

const DEPENDENCY: Column = Tuple(&[
    ("repo", Text),
    ("branch", Text),
    ("sha", Text),
    ("version", Text),
    ("extra_info", Strings),
]);

/// Every value of a record that its column does not take, and every key without a column.
pub fn check(record: &Value, found: &mut Vec<Found>) {
    RECORD.check(record, "", found);
}

impl Column {
    fn check(&self, value: &Value, path: &str, found: &mut Vec<Found>) {
        if text::not_finite(value).is_some() {
            return;
        }
        let fits = match (self, value) {
            (Self::Elsewhere, _) => true,
            (Self::Text, _) => value.is_string(),
            (Self::Texts, Value::Array(items)) => items.iter().all(Value::is_string),
            (Self::Number, _) => value.is_number(),
            (Self::Unsigned(bits), _) => {
                value.as_u64().is_some_and(|it| it <= u64::MAX >> (64 - bits))
            }
            (Self::Strings, Value::Object(map)) => {
                strings(map, path, found);
                true
            }
            (Self::Tuple(columns), Value::Object(fields)) => {
                tuple(columns, fields, path, found);
                true
            }
            (Self::List(column), Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    column.check(item, &format!("{path}/{index}"), found);
                }
                true
            }
            (Self::Map(column), Value::Object(fields)) => {
                for (key, value) in fields {
                    column.check(value, &pointer(path, key), found);
                }
                true
            }
            _ => false,
        };
        if !fits {
            found.push((Trap::WrongType, path.to_owned(), text::brief(value)));
        }
    }
}

fn tuple(
    columns: &[(&str, Column)],
    fields: &Map<String, Value>,
    path: &str,
    found: &mut Vec<Found>,
) {
    for (key, value) in fields {
        let place = pointer(path, key);
        match columns.iter().find(|(name, _)| name == key) {
            Some((_, column)) => column.check(value, &place, found),
            None => found.push((Trap::UnknownKey, place, format!("`{key}`"))),
        }
    }
}

fn strings(map: &Map<String, Value>, path: &str, found: &mut Vec<Found>) {
    for (key, value) in map {
        let trap = match value {
            Value::String(_) => continue,
            Value::Object(_) | Value::Array(_) => Trap::NestedValue,
            Value::Null | Value::Bool(_) | Value::Number(_) => Trap::NotAString,
        };
        found.push((trap, pointer(path, key), text::brief(value)));
    }
}

//! The columns of the table, as the published schema has them, and what happens to values that they do
//! not take.

use std::sync::LazyLock;

use serde_json::Value;

use super::trap::Found;
use super::{Trap, pointer, text};

/// The schema of a file of records. It follows from upstream's code.
pub const SCHEMA: &str = include_str!("../../../schema/pytorch-oss-benchmark-v3.schema.json");

static FILE: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_slice(SCHEMA.as_bytes()).expect("a test reads the schema"));

/// Columns with traps of their own.
const ELSEWHERE: [&str; 4] =
    ["/benchmark/name", "/model/name", "/metric/name", "/metric/benchmark_values"];

/// Every value of a record that its column does not take, and every key without a column.
pub fn check(record: &Value, found: &mut Vec<Found>) {
    check_column(&FILE["items"], record, "", found);
}

fn check_column(column: &Value, value: &Value, path: &str, found: &mut Vec<Found>) {
    if text::not_finite(value).is_some() || ELSEWHERE.contains(&path) {
        return;
    }
    if value.is_null() {
        found.push((Trap::Null, path.to_owned(), text::brief(value)));
        return;
    }
    let definition = column["$ref"].as_str().and_then(|name| FILE.pointer(name.strip_prefix('#')?));
    let column = definition.unwrap_or(column);
    let fits = match (column["type"].as_str(), value) {
        (Some("object"), Value::Object(fields)) => {
            for (key, value) in fields {
                check_key(column, key, value, pointer(path, key), found);
            }
            true
        }
        (Some("array"), Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                check_column(&column["items"], item, &format!("{path}/{index}"), found);
            }
            true
        }
        // A time that is too late has a trap of its own.
        (Some("integer"), _) => value
            .as_u64()
            .is_some_and(|it| path == "/timestamp" || Some(it) <= column["maximum"].as_u64()),
        (Some("number"), _) => value.is_number(),
        // The version has no type: it is a constant.
        (Some("string") | None, _) => value.is_string(),
        _ => false,
    };
    if !fits {
        let trap = trap(column["type"].as_str(), value);
        found.push((trap, path.to_owned(), text::brief(value)));
    }
}

/// The effect of a value of another type than the column's, which has one of the schema's names. By its default settings
/// ClickHouse reads quoted numbers, takes true and false for 1 and 0, and stores the text of anything in a column of
/// strings.
pub fn trap(column: Option<&str>, value: &Value) -> Trap {
    let is_taken = match (column, value) {
        (Some("string"), _) | (Some("integer" | "number"), Value::Bool(_)) => true,
        (Some("integer"), Value::String(text)) => text.parse::<u64>().is_ok(),
        (Some("number"), Value::String(text)) => text.parse::<f64>().is_ok(),
        _ => false,
    };
    if is_taken { Trap::Converted } else { Trap::WrongType }
}

fn check_key(object: &Value, key: &str, value: &Value, path: String, found: &mut Vec<Found>) {
    let others = &object["additionalProperties"];
    match (object["properties"].get(key), value) {
        (Some(column), _) => check_column(column, value, &path, found),
        (None, _) if *others == false => found.push((Trap::UnknownKey, path, format!("`{key}`"))),
        (None, _) if others["type"] != "string" => check_column(others, value, &path, found),
        (None, Value::String(_)) => {}
        (None, Value::Object(_) | Value::Array(_)) => {
            found.push((Trap::NestedValue, path, text::brief(value)));
        }
        (None, Value::Null | Value::Bool(_) | Value::Number(_)) => {
            found.push((Trap::NotAString, path, text::brief(value)));
        }
    }
}

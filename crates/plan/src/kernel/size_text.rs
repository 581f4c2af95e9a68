//! What ids say of a problem size.

use std::collections::BTreeMap;

use serde_json::Value;

use super::field::Field;

/// The values that are given, in the order in which the struct declares their fields.
pub(crate) fn size_text(fields: &[Field], given: &BTreeMap<String, Value>) -> String {
    let values: Vec<String> =
        fields.iter().filter_map(|field| given.get(&field.name)).map(value_text).collect();
    if values.is_empty() { "default".to_owned() } else { values.join("-") }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "empty".to_owned(),
        Value::Array(items) => items.iter().map(value_text).collect::<Vec<_>>().join("x"),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(real) => {
                let (plain, scientific) = (real.to_string(), format!("{real:e}"));
                if scientific.len() < plain.len() { scientific } else { plain }
            }
            None => number.to_string(),
        },
        other => other.to_string(),
    }
}

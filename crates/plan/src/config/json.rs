//! Values of a document that are carried on as they are.

use serde_json::{Map, Number, Value};

use super::node::Node;

impl Node<'_> {
    /// The value as files of a run hold it.
    pub(super) fn json(&self) -> Option<Value> {
        if self.is_null() {
            return Some(Value::Null);
        }
        if let Some(text) = self.as_text() {
            return Some(Value::from(text));
        }
        if let Some(flag) = self.as_boolean() {
            return Some(Value::from(flag));
        }
        if let Some(number) = self.as_number() {
            return match json_number(number) {
                Some(number) => Some(Value::Number(number)),
                None => self.wrong_type("finite", "a finite number, or text in quotes"),
            };
        }
        if self.is_list() {
            let items = self.read_each(Self::json)?;
            return items.into_iter().collect::<Option<Vec<_>>>().map(Value::Array);
        }
        self.object().map(Value::Object)
    }

    /// The mapping as files of a run hold it.
    pub(super) fn object(&self) -> Option<Map<String, Value>> {
        let entries = self.entries_of_any_key()?;
        let read: Vec<_> = entries.into_iter().map(|(key, node)| (key, node.json())).collect();
        read.into_iter().map(|(key, value)| Some((key, value?))).collect()
    }
}

fn json_number(number: &serde_yaml::Number) -> Option<Number> {
    if let Some(whole) = number.as_u64() {
        Some(Number::from(whole))
    } else if let Some(whole) = number.as_i64() {
        Some(Number::from(whole))
    } else {
        Number::from_f64(number.as_f64()?)
    }
}

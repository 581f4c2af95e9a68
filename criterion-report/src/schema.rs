//! `schema`: the JSON Schemas of the files that are written, as published in `docs/schema`.

use std::collections::BTreeSet;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema as Generated};
use serde_json::{Map, Value};

use crate::write::{compare, export, summary};

/// A file that has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Schema {
    /// The document of `export json`; `export jsonl` writes the same in lines
    Report,
    /// The document of `compare --format json`
    Compare,
    /// The document of `summary --format json`
    Summary,
    /// The records that `dashboard` writes and `validate` checks
    PytorchOssBenchmarkV3,
}

impl Schema {
    /// Its file in `docs/schema`.
    pub const fn file(self) -> &'static str {
        match self {
            Self::Report => "report-v1.schema.json",
            Self::Compare => "comparison-v1.schema.json",
            Self::Summary => "summary-v1.schema.json",
            Self::PytorchOssBenchmarkV3 => "pytorch-oss-benchmark-v3.schema.json",
        }
    }

    /// The schema, JSON of draft 2020-12. The database's schema follows from upstream's code.
    pub fn text(self) -> String {
        match self {
            Self::Report => published::<export::Whole<'_>>(self.file(), "criterion-torch report"),
            Self::Compare => {
                published::<compare::Document<'_>>(self.file(), "criterion-torch comparison")
            }
            Self::Summary => {
                published::<summary::Document<'_>>(self.file(), "criterion-torch summary")
            }
            Self::PytorchOssBenchmarkV3 => {
                include_str!("../../docs/schema/pytorch-oss-benchmark-v3.schema.json").to_owned()
            }
        }
    }
}

/// The schema of what `T` is written as, in which no object has other keys than its own.
fn published<T: JsonSchema>(file: &str, title: &str) -> String {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema: Generated = generator.into_root_schema_for::<T>();
    schema.insert("$id".to_owned(), format!("criterion-torch/{file}").into());
    schema.insert("title".to_owned(), format!("{title}, version 1").into());
    let mut value = schema.to_value();
    let mut parts = BTreeSet::new();
    close(&mut value, false, &mut parts);
    for name in parts {
        if let Some(part) = value["$defs"].get_mut(&name).and_then(Value::as_object_mut) {
            part.remove("additionalProperties");
        }
    }
    let text = serde_json::to_string_pretty(&value).expect("a schema is JSON");
    text + "\n"
}

/// Refuses keys that an object does not name. One with the keys of alternatives besides, as a case has
/// those of its work, refuses what neither names: the alternatives, whose definitions are added to
/// `parts`, stay open.
fn close(schema: &mut Value, is_part: bool, parts: &mut BTreeSet<String>) {
    match schema {
        Value::Object(keys) => {
            let is_object = keys.contains_key("properties");
            let is_whole = is_object && keys.contains_key("anyOf");
            if is_part {
                let name = keys.get("$ref").and_then(Value::as_str);
                parts.extend(name.and_then(|name| name.rsplit('/').next()).map(str::to_owned));
            } else if is_object {
                let key = if is_whole { "unevaluatedProperties" } else { "additionalProperties" };
                keys.insert(key.to_owned(), false.into());
            }
            below(keys, is_whole, parts);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| close(item, is_part, parts)),
        _ => {}
    }
}

fn below(keys: &mut Map<String, Value>, is_whole: bool, parts: &mut BTreeSet<String>) {
    for (key, value) in keys {
        match (key.as_str(), value) {
            ("anyOf", value) => close(value, is_whole, parts),
            // Their keys are names of fields and types, not of this schema.
            ("properties" | "$defs", Value::Object(named)) => {
                named.values_mut().for_each(|value| close(value, false, parts));
            }
            ("enum" | "const" | "required", _) => {}
            (_, value) => close(value, false, parts),
        }
    }
}

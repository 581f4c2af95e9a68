//! `schema`: the JSON Schemas of the files that are written, as published in `docs/schema`.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema as Generated};
use serde_json::Value;

use crate::model::database::SCHEMA;
use crate::write::{compare, explain, export, summary, training};

/// A file that has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Schema {
    /// The document of `export json`; `export jsonl` writes the same in lines
    Report,
    /// The document of `compare --format json`
    Compare,
    /// The document of `summary --format json`
    Summary,
    /// The document of `training --format json`
    Training,
    /// The document of `explain --format json`
    Explain,
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
            Self::Training => "training-v1.schema.json",
            Self::Explain => "explain-v1.schema.json",
            Self::PytorchOssBenchmarkV3 => "pytorch-oss-benchmark-v3.schema.json",
        }
    }

    /// The schema, JSON of draft 2020-12.
    pub fn text(self) -> String {
        match self {
            Self::Report => published::<export::Whole<'_>>(self.file(), "criterion-torch report"),
            Self::Compare => {
                published::<compare::Document<'_>>(self.file(), "criterion-torch comparison")
            }
            Self::Summary => {
                published::<summary::Document<'_>>(self.file(), "criterion-torch summary")
            }
            Self::Training => {
                published::<training::Document<'_>>(self.file(), "criterion-torch training")
            }
            Self::Explain => {
                published::<explain::Document<'_>>(self.file(), "criterion-torch explanations")
            }
            Self::PytorchOssBenchmarkV3 => SCHEMA.to_owned(),
        }
    }
}

/// The schema of what `T` is written as, in which no object has other keys than its own.
fn published<T: JsonSchema>(file: &str, title: &str) -> String {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema: Generated = generator.into_root_schema_for::<T>();
    schema.insert("$id".to_owned(), format!("criterion-torch/{file}").into());
    schema.insert("title".to_owned(), format!("{title}, version 1").into());
    let mut parts = Vec::new();
    RecursiveTransform(|schema: &mut Generated| close(schema, &mut parts)).transform(&mut schema);
    for part in parts {
        let part = schema.pointer_mut(part.trim_start_matches('#')).and_then(Value::as_object_mut);
        part.expect("a reference leads to an object").remove("additionalProperties");
    }
    let text = serde_json::to_string_pretty(schema.as_value()).expect("a schema is JSON");
    text + "\n"
}

/// Refuses keys that an object does not name. One with the keys of alternatives besides, as a case has
/// those of its work, refuses what neither names: the alternatives, whose references are added to
/// `parts`, stay open.
fn close(schema: &mut Generated, parts: &mut Vec<String>) {
    if schema.get("properties").is_none() {
        return;
    }
    let refused = match schema.get("anyOf").and_then(Value::as_array) {
        Some(alternatives) => {
            let references = alternatives.iter().filter_map(|it| it["$ref"].as_str());
            parts.extend(references.map(str::to_owned));
            "unevaluatedProperties"
        }
        None => "additionalProperties",
    };
    schema.insert(refused.to_owned(), false.into());
}

//! The schemas as they follow from the types that are written.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema as Generated};
use serde_json::Value;

use super::Schema;
use crate::export;
use crate::views::calibration::Profile;
use crate::views::explain::text as explain;
use crate::views::fusion::text as fusion;
use crate::views::kernels::text as kernels;
use crate::views::operators::text as operators;
use crate::views::training::text as training;
use crate::views::{compare, recommend, summary};

impl Schema {
    /// The schema as the types of this build have it; `None` where it is the database's and follows from
    /// no type.
    pub fn generated(self) -> Option<String> {
        let file = self.file();
        Some(match self {
            Self::Report => published::<export::Whole<'_>>(file, "criterion-torch report"),
            Self::Compare => published::<compare::Document<'_>>(file, "criterion-torch comparison"),
            Self::Summary => published::<summary::Document<'_>>(file, "criterion-torch summary"),
            Self::Training => published::<training::Document<'_>>(file, "criterion-torch training"),
            Self::Fusion => published::<fusion::Document<'_>>(file, "criterion-torch fusion"),
            Self::Operators => {
                published::<Vec<operators::Item<'_>>>(file, "criterion-torch operators")
            }
            Self::Kernels => published::<kernels::Summary<'_>>(file, "criterion-torch kernels"),
            Self::Calibration => published::<Profile>(file, "criterion-torch calibration"),
            Self::Recommendation => {
                published::<recommend::Document<'_>>(file, "criterion-torch recommendation")
            }
            Self::Explain => {
                published::<explain::Document<'_>>(file, "criterion-torch explanations")
            }
            Self::PytorchOssBenchmarkV3 => return None,
        })
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

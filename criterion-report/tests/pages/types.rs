//! Tables of the fields of documents, from their JSON Schemas.

use criterion_report::cli::schema::Schema;
use criterion_report::views::PatternAdvice;
use criterion_report::views::calibration::Profile;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::{code, sentence, table};

/// The objects of a document and of what they hold, a table each. Those of records and manifests have a
/// page of their own, which is `record` from here.
pub fn types(document: &str, roots: &[&str], record: &str) -> String {
    let report = generated(Schema::Report);
    let whole = match document {
        "report" => report.clone(),
        "compare" => generated(Schema::Compare),
        "summary" => generated(Schema::Summary),
        "recommendation" => generated(Schema::Recommendation),
        "calibration" => written::<Profile>(),
        "fusion-strategy" => written::<PatternAdvice>(),
        other => panic!("no schema of `{other}`"),
    };
    let mut types = Types { whole: &whole, record, elsewhere: Vec::new(), order: Vec::new() };
    if !roots.is_empty() {
        roots.iter().for_each(|root| types.visit(root));
        return types.sections();
    }
    let mut recorded = Types { whole: &report, record, elsewhere: Vec::new(), order: Vec::new() };
    ["Record", "RunManifest"].iter().for_each(|root| recorded.visit(root));
    let names = recorded.order.iter();
    let same = |name: &&String| {
        let [one, other] = [recorded.named(name), types.named(name)];
        one["properties"] == other["properties"] && one["oneOf"] == other["oneOf"]
    };
    types.elsewhere = names.filter(same).cloned().collect();
    types.follow(&whole);
    types.table(&whole) + "\n" + &types.sections()
}

/// The schema of a document that publishes none.
fn written<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.into_root_schema_for::<T>().to_value()
}

fn generated(schema: Schema) -> Value {
    serde_json::from_str(&schema.generated().expect("a document of ours")).expect("JSON")
}

struct Types<'a> {
    whole: &'a Value,
    record: &'a str,
    /// Types that another page has.
    elsewhere: Vec<String>,
    order: Vec<String>,
}

impl Types<'_> {
    fn sections(&self) -> String {
        let sections = self.order.iter().map(|name| self.section(name));
        sections.collect::<Vec<_>>().join("\n")
    }

    fn named(&self, name: &str) -> &Value {
        &self.whole["$defs"][name]
    }

    fn visit(&mut self, name: &str) {
        let named = self.named(name).clone();
        let is_known =
            self.order.iter().any(|it| it == name) || self.elsewhere.iter().any(|it| it == name);
        if !is_known && is_section(&named) {
            self.order.push(name.to_owned());
            self.follow(&named);
        }
    }

    /// Visits what a schema refers to, in the order of its fields.
    fn follow(&mut self, schema: &Value) {
        match schema {
            Value::Object(keys) => {
                if let Some(name) = reference(schema) {
                    self.visit(name);
                }
                let fields = fields(schema).into_iter().map(|(_, field)| field.clone());
                fields.collect::<Vec<_>>().iter().for_each(|it| self.follow(it));
                let others =
                    keys.iter().filter(|(key, _)| !["$defs", "properties"].contains(&key.as_str()));
                others.for_each(|(_, value)| self.follow(value));
            }
            Value::Array(items) => items.iter().for_each(|it| self.follow(it)),
            _ => {}
        }
    }

    fn section(&self, name: &str) -> String {
        let schema = self.named(name);
        let description = match sentence(&text(schema)) {
            text if text.is_empty() => text,
            text => text + "\n\n",
        };
        format!("### {name}\n\n{description}{}", self.table(schema))
    }

    fn table(&self, schema: &Value) -> String {
        if let Some(kinds) = schema["oneOf"].as_array() {
            return table(["value", "meaning"], kinds.iter().map(|it| self.kind(it)));
        }
        let required: Vec<&str> = required(schema).collect();
        let row = |(name, field): (&str, &Value)| {
            let kind = self.type_of(field);
            let kind = match kind.strip_suffix(" or null") {
                _ if required.contains(&name) => kind,
                Some(kind) => format!("{kind}, or absent"),
                None => kind + ", or absent",
            };
            assert!(!text(field).is_empty(), "`{name}` of {} says nothing", text(schema));
            [code(name), kind, sentence(&text(field))]
        };
        let mut table = table(["field", "type", "meaning"], fields(schema).into_iter().map(row));
        if let Some(works) = schema["anyOf"].as_array() {
            let works: Vec<String> = works.iter().map(|it| self.type_of(it)).collect();
            table.push_str(&format!(
                "\nBesides it has the fields of one of {}.\n",
                works.join(", ")
            ));
        }
        table
    }

    /// One of several forms.
    fn kind(&self, kind: &Value) -> [String; 2] {
        let mut meaning = sentence(&text(kind));
        let mut names = Vec::new();
        names.extend(kind["const"].as_str().map(code));
        for (name, field) in fields(kind) {
            if let Some(word) = field["const"].as_str() {
                names.push(format!("`{name}`: `{word}`"));
                continue;
            }
            names.push(code(name));
            let inner = fields(field)
                .into_iter()
                .map(|(name, it)| format!("`{name}`: {}", sentence(&text(it))));
            let inner: Vec<String> = inner.collect();
            let inner = if inner.is_empty() {
                vec![format!("`{name}`: {}", sentence(&text(field)))]
            } else {
                inner
            };
            meaning.push_str(&format!(" {}", inner.join(" ")));
        }
        [names.join(", "), meaning]
    }

    fn type_of(&self, schema: &Value) -> String {
        if let Some(name) = reference(schema) {
            let named = self.named(name);
            return match is_section(named) {
                true if self.elsewhere.iter().any(|it| it == name) => {
                    format!("[{name}]({}#{})", self.record, name.to_lowercase())
                }
                true => format!("[{name}](#{})", name.to_lowercase()),
                false => self.type_of(named),
            };
        }
        if let Some(kinds) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
            return or(kinds.iter().map(|it| self.type_of(it)));
        }
        if let Some(words) = schema["enum"].as_array() {
            return or(words.iter().filter_map(Value::as_str).map(code));
        }
        if let Some(word) = schema["const"].as_str() {
            return code(word);
        }
        match &schema["type"] {
            Value::Array(kinds) => or(kinds.iter().map(|kind| self.plain(kind, schema))),
            kind => self.plain(kind, schema),
        }
    }

    fn plain(&self, kind: &Value, schema: &Value) -> String {
        match (kind.as_str(), schema["prefixItems"].as_array()) {
            (Some("array"), Some(items)) => {
                let items: Vec<String> = items.iter().map(|it| self.type_of(it)).collect();
                format!("[{}]", items.join(", "))
            }
            (Some("array"), None) => format!("list of {}", self.type_of(&schema["items"])),
            (Some("object"), _) if schema["additionalProperties"].is_object() => {
                format!("by name: {}", self.type_of(&schema["additionalProperties"]))
            }
            (Some("string"), _) => "text".to_owned(),
            (Some("boolean"), _) => "true, false".to_owned(),
            (Some(kind), _) => kind.to_owned(),
            (None, _) => "any".to_owned(),
        }
    }
}

fn or(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    match &words[..] {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

/// Whether a named type has a table of its own: an object, or forms that need words.
fn is_section(schema: &Value) -> bool {
    let kinds = schema["oneOf"].as_array();
    schema["properties"].is_object()
        || kinds.is_some_and(|kinds| kinds.iter().all(|kind| !text(kind).is_empty()))
}

fn reference(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

fn text(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().to_owned()
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Fields in the order in which they are written, then those that may be absent.
fn fields(schema: &Value) -> Vec<(&str, &Value)> {
    let Some(properties) = schema["properties"].as_object() else { return Vec::new() };
    let always: Vec<&str> = required(schema).collect();
    let others = properties.keys().map(String::as_str).filter(|name| !always.contains(name));
    let names: Vec<&str> = always.iter().copied().chain(others).collect();
    names.into_iter().filter_map(|name| Some((name, properties.get(name)?))).collect()
}

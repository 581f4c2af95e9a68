//! The published schemas against what is written, and against what must not be.

use std::fs;

use clap::ValueEnum;
use criterion_report::cli::schema::Schema;
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::common::{READABLE, SEVERAL_RUNS, is_update, report, text_and_notes, try_report};
use crate::export::{TARGET, writer};

fn schema(name: &str) -> Validator {
    let path = format!("schema/{name}.schema.json");
    let text = fs::read_to_string(path).expect("a readable schema");
    let schema = serde_json::from_str(&text).expect("JSON");
    jsonschema::draft202012::new(&schema).expect("a schema")
}

fn text(command: &str, fixture: &str) -> Option<String> {
    let written = text_and_notes(&writer(command), &report(fixture), TARGET);
    written.ok().map(|(text, _)| text)
}

fn errors(schema: &Validator, value: &Value) -> Vec<String> {
    let errors = schema.iter_errors(value);
    errors.map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn every_document_is_as_its_schema_says() {
    let schema = schema("report-v1");
    let json = writer("export json");
    let one = READABLE.iter().map(|name| (name, report(name)));
    let several = |name| try_report(name, "main", "").expect("readable");
    let several = SEVERAL_RUNS.iter().map(|name| (name, several(name)));
    for (name, report) in one.chain(several) {
        let (text, _) = text_and_notes(&json, &report, TARGET).expect("written");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let errors = errors(&schema, &value);
        assert!(errors.is_empty(), "{name}: {errors:#?}");
    }
}

#[test]
fn the_head_of_lines_is_the_same_but_for_its_cases() {
    let whole: Value =
        serde_json::from_str(&text("export json", "every-outcome").expect("written"))
            .expect("JSON");
    let lines = text("export jsonl", "every-outcome").expect("written");
    let mut lines =
        lines.lines().map(|line| -> Value { serde_json::from_str(line).expect("JSON") });
    let mut head = lines.next().expect("a head");
    let cases: Vec<Value> = lines.collect();
    assert_eq!(head["cases"], cases.len());
    head["cases"] = cases.into();
    head["schema"] = "criterion-torch/report".into();
    assert_eq!(head, whole);
}

/// Every object of the document refuses a key that the schema does not know: whoever adds one to the
/// document is told by the test above, and whoever loosens the schema by this one.
#[test]
fn an_unknown_key_is_refused_wherever_it_stands() {
    let schema = schema("report-v1");
    let mut refused = 0;
    for name in ["every-outcome", "compiled", "noisy", "fusion", "probes", "preallocated"] {
        let text = text("export json", name).expect("written");
        let mut value: Value = serde_json::from_str(&text).expect("JSON");
        // The first two cases have every kind of object that the others have.
        value["cases"].as_array_mut().expect("a list").truncate(2);
        for path in objects(&value, "") {
            let mut other = value.clone();
            let object = other.pointer_mut(&path).expect("it was found there");
            object.as_object_mut().expect("an object").insert("unheard_of".into(), json!([[]]));
            assert!(!schema.is_valid(&other), "{name}: {path}");
            refused += 1;
        }
    }
    assert!(refused > 100, "only {refused}");
}

/// The places of all objects; those with names of the user's own have no fixed keys.
fn objects(value: &Value, path: &str) -> Vec<String> {
    const FREE: [&str; 3] = ["throughput", "metadata", "problem_size"];
    let mut found = Vec::new();
    match value {
        Value::Object(fields) => {
            found.push(path.to_owned());
            for (key, value) in fields.iter().filter(|(key, _)| !FREE.contains(&key.as_str())) {
                let key = key.replace('~', "~0").replace('/', "~1");
                found.extend(objects(value, &format!("{path}/{key}")));
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                found.extend(objects(item, &format!("{path}/{index}")));
            }
        }
        _ => {}
    }
    found
}

#[test]
fn a_wrong_type_and_a_missing_key_are_refused() {
    let schema = schema("report-v1");
    let text = text("export json", "two-siblings").expect("written");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    for (path, wrong) in [
        ("/version", json!(2)),
        ("/schema", json!("criterion-torch/other")),
        ("/baseline", json!(1)),
        ("/cases/0/record/timestamp", json!(-1)),
        ("/cases/0/record/outcome/status", json!("done")),
        ("/cases/0/record/case/role", json!("sibling")),
        ("/cases/0/record/accuracy/sqnr_db", json!("∞")),
        ("/cases/0/criterion/samples/times", json!([1.0, null])),
        ("/cases/0/measures/latency/value", json!(null)),
        ("/runs/0/manifest/selected", json!("all")),
    ] {
        let mut other = value.clone();
        *other.pointer_mut(path).unwrap_or_else(|| panic!("{path} is not there")) = wrong;
        assert!(!schema.is_valid(&other), "{path}");
    }
    for path in ["/tool", "/cases/0/record", "/cases/0/criterion", "/cases/0/record/case"] {
        let (parent, key) = path.rsplit_once('/').expect("a path");
        let mut other = value.clone();
        let parent = other.pointer_mut(parent).expect("it is there");
        parent.as_object_mut().expect("an object").remove(key);
        assert!(!schema.is_valid(&other), "{path}");
    }
}

#[test]
fn our_dashboards_are_as_the_databases_schema_says() {
    let schema = schema("pytorch-oss-benchmark-v3");
    let mut seen = 0;
    for name in READABLE {
        let Some(text) = text("dashboard", name) else { continue };
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let errors = errors(&schema, &value);
        assert!(errors.is_empty(), "{name}: {errors:#?}");
        seen += 1;
    }
    assert!(seen > 20, "only {seen}");
    let upstream = text("dashboard --torchao-compat", "two-siblings").expect("written");
    let value: Value = serde_json::from_str(&upstream).expect("JSON");
    assert!(
        errors(&schema, &value).iter().any(|error| error.contains("runners")),
        "its empty list"
    );
}

/// The schemas of our own files follow from the types that write them: `INSTA_UPDATE=always` writes them.
#[test]
fn the_published_schemas_are_those_of_the_types() {
    for schema in Schema::value_variants() {
        let Some(generated) = schema.generated() else { continue };
        let file = format!("schema/{}", schema.file());
        if is_update() {
            fs::write(&file, &generated).expect("writable");
        }
        assert!(
            generated == fs::read_to_string(&file).expect("readable"),
            "{file}: run `INSTA_UPDATE=always cargo test -p criterion-report --features schema`"
        );
    }
}

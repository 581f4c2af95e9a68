//! The published schema of the comparison against what is written, and against what must not be.

use std::fs;

use jsonschema::Validator;
use plan::Device::Cpu;
use plan::Dtype::Float32;
use serde_json::{Value, json};

use crate::compare::folder::*;
use crate::kernels::fixture::{Fixture, Make};

fn schema() -> Validator {
    let text = fs::read_to_string("schema/comparison-v1.schema.json").expect("readable");
    let schema = serde_json::from_str(&text).expect("JSON");
    jsonschema::draft202012::new(&schema).expect("a schema")
}

fn assert_valid(schema: &Validator, document: &Value, what: &str) {
    let errors = schema.iter_errors(document);
    let errors: Vec<String> =
        errors.map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{what}: {errors:#?}");
}

/// Every policy, floor and kind of side, and numbers that JSON does not have.
fn documents() -> Vec<(String, Value)> {
    let folder = one_of_each();
    let wild = |_| {
        branch(1).edit("histogram", |it| {
            it.record.accuracy.as_mut().expect("measured").relative_error =
                plan::JsonFloat(f64::INFINITY);
        })
    };
    let faster = |ns: u64| {
        move |run| {
            Fixture::of_kernels(&[
                Make("gemv", "kernel", Float32, Cpu, in_run(run, 2_000_000)),
                Make("gemv", "faster", Float32, Cpu, in_run(run, ns)),
            ])
        }
    };
    folder.save("wild", 2, wild).save("one", 0, branch).save("quiet", 3, main_branch);
    folder.save("two", 2, faster(1_000_000)).save("too", 2, faster(1_900_000));
    let rules = "rules: [{ filter: gemv, latency: 0.5 }, { filter: cpu, memory: 0 }]";
    fs::write(folder.path("thresholds.yml"), rules).expect("written");
    let mut found = Vec::new();
    let mut add = |args: &[&str]| {
        found.push((args.join(" "), folder.json(&[&["compare"], args].concat())));
    };
    for policy in ["default", "within", "hud", "quasim"] {
        add(&["main", "pr", "--policy", policy]);
        add(&["main", "one", "--policy", policy]);
    }
    add(&["two", "too", "--policy", "hud"]);
    // An interval of two runs reaches very far.
    add(&["main@1", "wild", "--thresholds", "thresholds.yml"]);
    add(&["main@1", "one"]);
    folder.stdout(0, &["aa", "quiet", "--filter", "gemv|scan"]);
    add(&["main@1", "one"]);
    folder.stdout(0, &["export", "critcmp", "--baseline", "one", "--output", "one.json"]);
    add(&["main", "one.json"]);
    found
}

#[test]
fn every_comparison_is_as_its_schema_says() {
    let schema = schema();
    let documents = documents();
    for (what, document) in &documents {
        assert_valid(&schema, document, what);
    }
    // The test has seen what the schema tells apart.
    let all = documents.iter().map(|(_, document)| document.to_string()).collect::<String>();
    for word in ["\"case\"", "\"pooled\"", "\"assumed\"", "\"inf\"", "\"speed-up\"", "\"gemv\""] {
        assert!(all.contains(word), "no document has {word}");
    }
}

#[test]
fn what_the_schema_does_not_know_is_refused() {
    let schema = schema();
    let (_, document) = documents().pop().expect("a document");
    assert_valid(&schema, &document, "as it is");
    for place in ["", "/a", "/thresholds", "/counts/0", "/cases/0", "/cases/0/measures/0"] {
        let mut other = document.clone();
        let object = other.pointer_mut(place).expect("it is there");
        object.as_object_mut().expect("an object").insert("unheard_of".into(), json!(1));
        assert!(!schema.is_valid(&other), "{place}");
        let mut other = document.clone();
        let object = other.pointer_mut(place).expect("it is there");
        let keys = object.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
        for key in keys {
            let mut other = document.clone();
            let object = other.pointer_mut(place).expect("it is there");
            object.as_object_mut().expect("an object").remove(&key);
            assert!(!schema.is_valid(&other), "{place} without {key}");
        }
    }
    for (place, wrong) in [
        ("/version", json!(2)),
        ("/policy", json!("strict")),
        ("/cases/0/verdict", json!("better")),
        ("/cases/0/measures/0/ratio", json!("∞")),
        ("/cases/0/measures/0/p", json!(2)),
    ] {
        let mut other = document.clone();
        *other.pointer_mut(place).expect("it is there") = wrong;
        assert!(!schema.is_valid(&other), "{place}");
    }
}

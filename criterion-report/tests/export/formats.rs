//! Whole outputs of the formats that other programs read, and what these programs rely on.

use std::collections::HashSet;

use criterion_report::model::{Field, MEASURES};
use insta::assert_snapshot;
use serde_json::Value;

use crate::common::{READABLE, report, text_and_notes, try_report, write};
use crate::export::{TARGET, writer};

fn json(command: &str, fixture: &str) -> Value {
    let (text, _) = text_and_notes(&writer(command), &report(fixture), TARGET).expect("written");
    serde_json::from_str(&text).expect("strict JSON")
}

#[test]
fn whole_outputs() {
    let alone = try_report("two-siblings", "new", "int8wo").expect("a readable fixture");
    assert_snapshot!("json-one-case", pretty(&write(&writer("export json"), &alone)));
    for name in ["every-outcome", "compiled-modes", "unreached-cases", "interleaved"] {
        assert_snapshot!(
            format!("markdown-{name}"),
            write(&writer("export markdown"), &report(name))
        );
    }
    for name in ["every-outcome", "compiled", "noisy"] {
        assert_snapshot!(format!("bmf-{name}"), write(&writer("export bmf"), &report(name)));
    }
    for better in ["smaller", "bigger"] {
        let command = format!("export github-action-benchmark --better {better}");
        let text = write(&writer(&command), &report("two-siblings"));
        assert_snapshot!(format!("github-action-benchmark-{better}"), text);
    }
    assert_snapshot!(
        "critcmp-two-siblings",
        write(&writer("export critcmp"), &report("two-siblings"))
    );
}

fn pretty(text: &str) -> String {
    let value: Value = serde_json::from_str(text).expect("strict JSON");
    serde_json::to_string_pretty(&value).expect("it was read")
}

/// Bencher's schema: objects of objects of `value` and two optional bounds, numbers.
#[test]
fn bencher_takes_it() {
    for name in READABLE {
        for (benchmark, measures) in json("export bmf", name).as_object().expect("an object") {
            assert!(!benchmark.is_empty() && benchmark.len() <= 1024, "{name}");
            let measures = measures.as_object().expect("an object");
            assert!(!measures.is_empty(), "{name}: {benchmark}");
            for (slug, metric) in measures {
                assert!(slug.len() <= 64, "{slug}");
                let metric = metric.as_object().expect("an object");
                let known = ["value", "lower_value", "upper_value"];
                assert!(metric.keys().all(|key| known.contains(&key.as_str())), "{metric:?}");
                let number = |key: &str| metric.get(key).map(|it| it.as_f64().expect("a number"));
                let value = number("value").expect("it is required");
                if let (Some(low), Some(high)) = (number("lower_value"), number("upper_value")) {
                    assert!(low <= value && value <= high, "{name}: {benchmark} {slug}");
                }
            }
        }
    }
}

#[test]
fn each_value_is_in_the_file_of_its_direction() {
    for name in READABLE {
        let benches = |better: &str| -> Vec<Value> {
            let command = format!("export github-action-benchmark --better {better}");
            json(&command, name).as_array().expect("a list").clone()
        };
        let names = |benches: &[Value]| -> HashSet<String> {
            benches.iter().map(|it| it["name"].as_str().expect("a name").to_owned()).collect()
        };
        let (smaller, bigger) = (benches("smaller"), benches("bigger"));
        let (small, big) = (names(&smaller), names(&bigger));
        assert_eq!((small.len(), big.len()), (smaller.len(), bigger.len()), "{name}: names repeat");
        assert!(small.is_disjoint(&big), "{name}");
        assert!(small.iter().all(|it| !it.ends_with(": speedup")), "{name}");
        assert!(big.iter().all(|it| !it.ends_with(": latency")), "{name}");
        let all = json("export bmf", name);
        let figures = all.as_object().expect("an object").values();
        let figures = figures.flat_map(|it| it.as_object().expect("an object").values());
        // A ratio to zero is infinite.
        let figures = figures.filter(|it| it["value"] != 0.0).count();
        assert_eq!(figures, smaller.len() + bigger.len(), "{name}");
        for bench in smaller.iter().chain(&bigger) {
            assert!(bench["value"].as_f64() != Some(0.0) && bench["unit"].is_string(), "{bench}");
        }
    }
}

/// The action ends with an error where its file has no value.
#[test]
fn an_empty_list_is_announced() {
    let bigger = writer("export github-action-benchmark --better bigger");
    let failed = try_report("every-outcome", "new", "float8dq").expect("a readable fixture");
    let (text, notes) = text_and_notes(&bigger, &failed, TARGET).expect("written");
    assert_eq!(text, "[]\n");
    assert!(notes.iter().any(|note| note.contains("refuses an empty list")), "{notes:?}");
    let (_, notes) = text_and_notes(&bigger, &report("two-siblings"), TARGET).expect("written");
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn no_number_of_the_document_is_a_bare_word() {
    for name in READABLE {
        assert_eq!(json("export json", name)["version"], 1, "{name}");
    }
    let text = write(&writer("export json"), &report("every-outcome"));
    assert!(text.contains(r#""sqnr":{"value":"inf"}"#), "an equal output has no number");
}

#[test]
fn a_comment_has_room_and_counts_what_has_none() {
    let mut report = report("every-outcome");
    let cases = report.entries().count();
    let small = write(&writer("export markdown"), &report);
    assert!(!small.contains("not shown"), "{small}");
    let case = criterion_report::read::Missing {
        full_id: "inference/x/linear/cpu/`int8wo`|<b>/bf16-1x1x1".to_owned(),
        reason: "it said:\n| `a` <b> | @someone".to_owned(),
    };
    report.missing = vec![case.clone()];
    let text = write(&writer("export markdown"), &report);
    let row = text.lines().find(|line| line.contains("it said")).expect("the case");
    assert_eq!(row.matches(" | ").count(), 1, "{row}");
    assert!(!row.contains("| <b>") && !row.contains("@s"), "{row}");
    report.missing = vec![case; 2_000];
    let text = write(&writer("export markdown"), &report);
    assert!(text.chars().count() <= 65_000, "{}", text.chars().count());
    assert!(text.contains("**2000 cases not shown**"), "{text}");
    let shown = text.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(shown, cases);
}

#[test]
fn slugs_are_unique_and_fit_every_format() {
    let slugs: Vec<&str> = MEASURES.iter().map(|field| field.name).collect();
    let unique: HashSet<&str> = slugs.iter().copied().collect();
    assert_eq!(unique.len(), slugs.len());
    for slug in slugs {
        assert!(slug.len() <= 64, "{slug}: Bencher takes no longer ones");
        let fits = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
        assert!(slug.split('-').all(|part| !part.is_empty() && part.chars().all(fits)), "{slug}");
        assert!(Field::named(slug).is_some_and(|field| field.name == slug));
    }
}

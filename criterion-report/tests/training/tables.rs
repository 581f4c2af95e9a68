//! The tables: what is in them, and what they point out.

use insta::assert_snapshot;
use plan::Outcome;

use crate::common::{text_and_notes, write, write_on};
use crate::training::fixture::{Fixture, PEAK};
use crate::training::{JSON, ONE, TABLE};

#[test]
fn every_part_of_a_step_is_in_them() {
    let report = Fixture::of_training("train", ONE).training_report("");
    assert_snapshot!("tables", write(&TABLE, &report));
    assert_snapshot!("tables-80", write_on(Some(80), &TABLE, &report));
    assert_snapshot!("json", write(&JSON, &report));
}

#[test]
fn forward_and_backward_that_do_not_add_up_are_pointed_out() {
    let fixture = Fixture::of_training("train", ONE);
    let fits = write(&TABLE, &fixture.training_report(""));
    assert!(!fits.contains("forward + backward"), "{fits}");
    let whole = fixture
        .cases
        .iter()
        .find(|it| it.record.full_id.contains("linear-forward_backward/cpu/float8-tensorwise/"));
    let ns = whole.and_then(|it| it.ns).expect("measured");
    let slower = fixture.takes("linear-backward/cpu/float8-tensorwise/", ns);
    let text = write(&TABLE, &slower.training_report(""));
    assert!(text.contains("forward + backward take 33 % more than forward_backward"), "{text}");
}

/// The peak of a matrix product on one thread.
const CALIBRATION: &str = "
benchmark_mode: calibration
threads: [1]
calibration_params:
  - probes: [matmul]
    sizes: quick
    dtypes: [torch.bfloat16]
";

#[test]
fn the_share_is_of_the_measured_peak() {
    let machine = Fixture::of_training("machine", CALIBRATION);
    let report = Fixture::of_training("train", ONE).and(machine).training_report("");
    let document: serde_json::Value = serde_json::from_str(&write(&JSON, &report)).expect("JSON");
    let results = document["results"].as_array().expect("results");
    assert_eq!(results.len(), 4, "the calibration is none of them");
    for result in results {
        let rate = result["gflops"].as_f64();
        assert_eq!(rate.is_none(), result["emulated"] == true);
        let share = result["peak_share"].as_f64();
        let near = |(rate, share): (f64, f64)| (share * PEAK / rate - 1.0).abs() < 1e-6;
        assert_eq!(rate.zip(share).map(near), rate.map(|_| true), "{result}");
    }
    assert!(write(&TABLE, &report).contains("of peak"));
}

#[test]
fn a_part_without_a_time_says_why() {
    let failed = Outcome::Failed { error: "no gradient".to_owned() };
    let fixture =
        Fixture::of_training("train", ONE).end("linear-backward/cpu/float8-tensorwise/", &failed);
    let text = write(&TABLE, &fixture.training_report(""));
    assert!(text.contains("backward failed: no gradient"), "{text}");
    let none = Fixture::of_training("train", ONE).end("float8-tensorwise", &failed);
    let text = write(&TABLE, &none.training_report(""));
    assert!(text.contains("failed: no gradient"), "{text}");
}

#[test]
fn without_training_it_says_what_to_measure() {
    let report = crate::common::report("two-siblings");
    let target = criterion_report::views::written::Target {
        colour_terminal: false,
        width: None,
        file: None,
    };
    let error = text_and_notes(&TABLE, &report, target).expect_err("nothing to show").to_string();
    assert!(error.contains("cargo bench --bench training"), "{error}");
}

#[test]
#[cfg(feature = "schema")]
fn the_document_is_as_its_schema_says() {
    let schema = std::fs::read_to_string("schema/training-v1.schema.json");
    let schema = serde_json::from_str(&schema.expect("readable")).expect("JSON");
    let schema = jsonschema::draft202012::new(&schema).expect("a schema");
    for config in [ONE, crate::training::GRID] {
        let document = write(&JSON, &Fixture::of_training("train", config).training_report(""));
        let document: serde_json::Value = serde_json::from_str(&document).expect("JSON");
        let errors: Vec<String> = schema.iter_errors(&document).map(|it| it.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
}

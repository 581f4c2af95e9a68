//! Lines of records, the report of those that are accepted, and every writer of it.
#![no_main]

#[path = "../writers.rs"]
mod writers;

use std::collections::HashSet;

use criterion_report::model::{Benchmark, ConfidenceInterval, CriterionResult, Estimate, Estimates, Row, Samples};
use criterion_report::read::{Inputs, record_of_line};
use libfuzzer_sys::fuzz_target;
use plan::Record;

fuzz_target!(|data: &[u8]| {
    let lines = data.split(|byte| *byte == b'\n');
    let records = lines.filter_map(|line| record_of_line(line).ok().flatten());
    let mut ids = HashSet::new();
    let records: Vec<Box<Record>> =
        records.filter(|record| ids.insert(record.full_id.clone())).take(8).collect();
    if records.is_empty() {
        return;
    }
    for record in &records {
        let text = serde_json::to_string(record).expect("serialises");
        let again = record_of_line(text.as_bytes()).expect("our own").expect("of today");
        // A float that is NaN does not equal itself; its text does.
        assert_eq!(serde_json::to_string(&again).expect("serialises"), text);
    }
    let cases = records.into_iter().map(|record| {
        let mut row = Row::new(record);
        if let Some(result) = result(&row.record) {
            row.join(Box::new(result));
        }
        (row.record.full_id.clone(), row)
    });
    let inputs = Inputs { cases: cases.collect(), ..Inputs::default() };
    writers::all(inputs);
});

/// The result that the record tells of, if it can be one.
fn result(record: &Record) -> Option<CriterionResult> {
    let last = record.last_sample?;
    let (iters, ns) = (last.iters as f64, last.ns as f64);
    let step = ns / iters;
    let estimate = |value: f64| Estimate {
        confidence_interval: ConfidenceInterval {
            confidence_level: 0.95,
            lower_bound: value * 0.99,
            upper_bound: value * 1.01,
        },
        point_estimate: value,
        standard_error: 0.0,
    };
    let benchmark = Benchmark {
        group_id: record.case.id.group.clone(),
        function_id: None,
        value_str: None,
        throughput: None,
        full_id: record.full_id.clone(),
        directory_name: String::new(),
    };
    let estimates = Estimates {
        mean: estimate(step),
        median: estimate(step),
        median_abs_dev: None,
        slope: None,
        std_dev: estimate(step / 100.0),
    };
    let (iters, times) = (vec![iters; 10], vec![ns; 10]);
    let samples = Samples { sampling_mode: "Flat".to_owned(), iters, times };
    let result = CriterionResult { benchmark, estimates, samples };
    result.check().is_ok().then_some(result)
}

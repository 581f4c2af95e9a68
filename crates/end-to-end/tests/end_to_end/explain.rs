//! Explanations of real runs on this machine: each case is built for one cause, and the figures have to name it.

use serde_json::Value;

use crate::lab::Lab;

const TARGETS: [&str; 5] = ["calibration", "inference", "fusion", "operators", "kernels"];

/// One test, because all cases share a calibration.
#[test]
fn real_cases_are_explained_by_what_they_were_built_for() {
    let lab = Lab::new();
    for target in TARGETS {
        let profile: &[&str] = if target == "calibration" { &[] } else { &["--profile"] };
        lab.bench(target, &[profile, &[&format!("^{target}/explain/")]].concat());
    }
    let text = lab.report(&["explain", "--format", "json"]);
    let document: Value = serde_json::from_str(&text).expect("strict JSON");
    let cases = Cases(document["cases"].as_array().expect("a list").clone());
    assert_eq!(document["schema"], "criterion-torch/explain");

    for case in cases.0.iter().filter(|case| !case["full_id"].as_str().is_some_and(is_probe)) {
        adds_up(case);
    }
    a_weight_is_converted(&cases);
    a_decode_is_memory_bound(&cases);
    fresh_pages_are_mapped(&cases);
    attention_is_dispatched_by_dimensions(&cases);
    a_product_is_onednns(&cases);
    a_copy_is_found(&cases);
}

fn is_probe(id: &str) -> bool {
    id.starts_with("calibration/")
}

struct Cases(Vec<Value>);

impl Cases {
    #[track_caller]
    fn of(&self, id: &str) -> &Value {
        let found = self.0.iter().find(|case| case["full_id"] == id);
        found.unwrap_or_else(|| panic!("{id} is not explained"))
    }
}

/// The statement of that rule about a case.
#[track_caller]
fn statement<'c>(case: &'c Value, word: &str) -> &'c Value {
    let mut statements = case["statements"].as_array().expect("a list").iter();
    let found = statements.find(|it| it["statement"] == word);
    found.unwrap_or_else(|| panic!("no {word} in {case:#}"))
}

#[track_caller]
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn sum<'v>(list: &'v Value, field: &str) -> f64 {
    list.as_array().expect("a list").iter().map(|it: &'v Value| number(&it[field])).sum()
}

/// Parts and operations are the whole time, and the differences the whole difference.
fn adds_up(case: &Value) {
    let time = number(&case["time_ns"]);
    for list in ["parts", "operations"] {
        let sum = sum(&case[list], "ns");
        assert!((sum - time).abs() <= 1e-6 * time, "{list} add up to {sum} of {time}: {case:#}");
    }
    assert!(case["profile"].is_object(), "it was profiled: {case:#}");
    let difference = &case["difference"];
    if difference.is_object() {
        let (whole, sum) =
            (number(&difference["difference_ns"]), sum(&difference["operations"], "difference_ns"));
        assert!((sum - whole).abs() <= 1e-6 * time, "{sum} of {whole}: {case:#}");
    }
}

/// int8wo converts its weight to float32 in every step; the baseline has nothing to convert.
fn a_weight_is_converted(cases: &Cases) {
    for size in ["1x2048x2048", "1x4096x8192"] {
        let of =
            |variant: &str| cases.of(&format!("inference/explain/linear/cpu/{variant}/f32-{size}"));
        let int8wo = of("int8wo");
        let converts = statement(int8wo, "converts_weight");
        assert!(number(&converts["share"]) > 0.25, "{converts}");
        let parts = int8wo["parts"].as_array().expect("a list");
        let is_conversion = |part: &&Value| part["kind"] == "weight_conversion";
        let ns: f64 = parts.iter().filter(is_conversion).map(|it| number(&it["ns"])).sum();
        let share = ns / number(&int8wo["time_ns"]);
        assert!((share - number(&converts["share"])).abs() < 1e-6, "{share}: {converts}");
        // The product is the baseline's, so that the conversion is the difference.
        let operations = int8wo["difference"]["operations"].as_array().expect("a list");
        let added = operations.iter().find(|it| it["change"] == "added").expect("a conversion");
        assert_eq!(added["baseline_calls"], 0.0, "{added}");
        assert!(number(&added["difference_ns"]) > 0.0, "{added}");
        let baseline = of("baseline")["statements"].as_array().expect("a list");
        assert!(baseline.iter().all(|it| it["statement"] != "converts_weight"), "{baseline:?}");
    }
}

/// A weight of 128 MiB is read once per step, which no cache holds.
fn a_decode_is_memory_bound(cases: &Cases) {
    let decode = cases.of("inference/explain/linear/cpu/baseline/f32-1x4096x8192");
    let first = &decode["statements"][0];
    assert_eq!(first["statement"], "memory_bound", "{decode:#}");
    assert!(number(&first["share"]) > 0.5, "{first}");
    // The weight, the input and the output.
    assert_eq!(decode["bytes"], 4 * (4096 * 8192 + 4096 + 8192));
    let limit = &decode["limit"];
    let expected = number(&decode["bytes"]) / number(&limit["bandwidth_gbps"]);
    assert!((number(&limit["bytes_ns"]) - expected).abs() <= 1e-9 * expected, "{limit}");
}

/// An output of 48 MiB is 12 288 pages of 4 KiB, which the C library gives back after every step.
fn fresh_pages_are_mapped(cases: &Cases) {
    let gelu = cases.of("operators/explain/gelu/cpu/aten/f32-12x1024x1024");
    let faults = statement(gelu, "page_faults");
    assert!((12_288.0..12_400.0).contains(&number(&faults["faults"])), "{faults}");
    assert!(number(&faults["share"]) > 0.1, "{faults}");
}

/// The same numbers with three dimensions and with four.
fn attention_is_dispatched_by_dimensions(cases: &Cases) {
    let of = |variant: &str| {
        cases.of(&format!("fusion/explain/full_attention/cpu/{variant}/f32-4x512x64"))
    };
    let case = of("sdpa-3d");
    let dispatched = statement(case, "other_dispatch");
    let name = |key: &str| dispatched[key].as_str().expect("a name").to_owned();
    assert!(name("operation").ends_with("_math"), "{dispatched}");
    assert!(name("instead_of").contains("flash"), "{dispatched}");
    assert_eq!(dispatched["other"], of("fused")["full_id"]);
    let ratio = number(&of("fused")["time_ns"]) / number(&case["time_ns"]);
    assert!((number(&dispatched["ratio"]) - ratio).abs() < 1e-6 * ratio, "{dispatched}: {ratio}");
}

fn a_product_is_onednns(cases: &Cases) {
    let case = cases.of("fusion/explain/linear_bias/cpu/mkldnn/f32-128x512x512");
    let other = statement(case, "other_library");
    assert_eq!(
        (&other["library"], &other["instead_of_library"]),
        (&"onednn".into(), &"aten".into())
    );
}

/// The sibling copies its input first, which is half of its bytes.
fn a_copy_is_found(cases: &Cases) {
    let copied = cases.of("kernels/explain/scaled/cpu/copied/f32-4000000");
    let added = statement(copied, "added_operation");
    assert_eq!((&added["operation"], &added["calls"]), (&"aten::copy_".into(), &1.0.into()));
    assert!(number(&added["share"]) > 0.1, "{added}");
}

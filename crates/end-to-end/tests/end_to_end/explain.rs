//! Explanations of real runs on this machine: each case is built for one cause, and the figures have to name it.

use plan::{Profile, Record};
use serde_json::Value;

use crate::workspace::{TestWorkspace, assert_near, page_bytes};

const TARGETS: [&str; 5] = ["calibration", "inference", "fusion", "operators", "kernels"];

const DECODE: &str = "inference/explain/linear/cpu/baseline/f32-1x4096x8192";
const GELU: &str = "operators/explain/gelu/cpu/aten/f32-12x1024x1024";
const SDPA_3D: &str = "fusion/explain/full_attention/cpu/sdpa-3d/f32-4x512x64";
const COPIED: &str = "kernels/explain/scaled/cpu/copied/f32-4000000";
const ELEMENTS: i32 = 4_000_000;

/// The statements whose shares are times, which a busy machine may push below their thresholds.
const TIMED: [(&str, &str); 6] = [
    ("inference/explain/linear/cpu/int8wo/f32-1x2048x2048", "converts_weight"),
    ("inference/explain/linear/cpu/int8wo/f32-1x4096x8192", "converts_weight"),
    (DECODE, "memory_bound"),
    (GELU, "page_faults"),
    (SDPA_3D, "other_dispatch"),
    (COPIED, "added_operation"),
];

/// One test, because all cases share a calibration.
#[test]
#[ignore = "long: calibrates the machine, a quarter of a minute"]
fn real_cases_are_explained_by_what_they_were_built_for() {
    let workspace = TestWorkspace::new().on_small_pages();
    let mut cases = Cases::measured(&workspace, &TARGETS);
    for _ in 1..5 {
        let again = cases.disturbed();
        if again.is_empty() {
            break;
        }
        cases = Cases::measured(&workspace, &again);
    }
    assert_eq!(cases.disturbed(), [] as [&str; 0], "no quiet moment: {:#?}", cases.0);

    for target in TARGETS.into_iter().filter(|target| *target != "calibration") {
        for record in workspace.records::<Record>("new", target) {
            adds_up(cases.case(&record.full_id), record.profile.as_ref().expect("a profile"));
        }
    }
    a_weight_is_converted(&cases, &workspace);
    a_decode_is_memory_bound(&cases, &workspace);
    fresh_pages_are_mapped(&cases);
    attention_is_dispatched_by_dimensions(&cases);
    a_product_is_onednns(&cases);
    a_copy_is_found(&cases);
}

struct Cases(Vec<Value>);

impl Cases {
    /// Measures the cases of some targets, and explains those of all that were measured so far.
    fn measured(workspace: &TestWorkspace, targets: &[&str]) -> Self {
        for target in targets {
            let profile: &[&str] = if *target == "calibration" { &[] } else { &["--profile"] };
            workspace.bench(target, &[profile, &[&format!("^{target}/explain/")]].concat());
        }
        let text = workspace.report(&["explain", "--format", "json"]);
        let document: Value = serde_json::from_str(&text).expect("strict JSON");
        assert_eq!(document["schema"], "criterion-torch/explain");
        Self(document["cases"].as_array().expect("a list").clone())
    }

    /// The targets whose cases lack a statement that takes a quiet machine, behind the calibration, which may be what
    /// was disturbed; none where no case lacks one.
    fn disturbed(&self) -> Vec<&'static str> {
        let lacking = TIMED.iter().filter(|(id, word)| statement(self.case(id), word).is_none());
        let mut targets: Vec<&str> = lacking.filter_map(|(id, _)| id.split('/').next()).collect();
        targets.dedup();
        if !targets.is_empty() {
            targets.insert(0, "calibration");
        }
        targets
    }

    #[track_caller]
    fn case(&self, id: &str) -> &Value {
        let found = self.0.iter().find(|case| case["full_id"] == id);
        found.unwrap_or_else(|| panic!("{id} is not explained"))
    }
}

/// The statement of that rule about a case, if there is one.
fn statement<'c>(case: &'c Value, word: &str) -> Option<&'c Value> {
    list(&case["statements"]).iter().find(|it| it["statement"] == word)
}

#[track_caller]
fn stated<'c>(case: &'c Value, word: &str) -> &'c Value {
    statement(case, word).unwrap_or_else(|| panic!("no {word} in {case:#}"))
}

#[track_caller]
fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list"))
}

#[track_caller]
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn sum(list: &Value, field: &str) -> f64 {
    self::list(list).iter().map(|it| number(&it[field])).sum()
}

/// An operation of a case, all its shapes together.
#[track_caller]
fn operation<'c>(case: &'c Value, name: &str) -> &'c Value {
    let found = list(&case["operations"]).iter().find(|it| it["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {case:#}"))
}

/// The difference of an operation from the baseline.
#[track_caller]
fn changed<'c>(case: &'c Value, name: &str) -> &'c Value {
    let operations = list(&case["difference"]["operations"]);
    let found = operations.iter().find(|it| it["operation"] == name);
    found.unwrap_or_else(|| panic!("no {name} in the difference of {case:#}"))
}

/// The share of the time that all parts of a kind have.
fn share_of_parts(case: &Value, kind: &str) -> f64 {
    let parts = list(&case["parts"]).iter().filter(|it| it["kind"] == kind);
    parts.map(|it| number(&it["share"])).sum()
}

/// The tolerance of every sum of times, relative to the whole: what rounding makes of it.
const TOLERANCE: f64 = 1e-6;

/// The recorded operations and what is outside of them are the whole profiled step, each of them is in the explanation,
/// and parts, operations and differences are the whole time and the whole difference.
fn adds_up(case: &Value, profile: &Profile) {
    let near = |what: &str, sum: f64, whole: f64, scale: f64| {
        assert!((sum - whole).abs() <= TOLERANCE * scale, "{what}: {sum} of {whole}: {case:#}");
    };
    let recorded: f64 = profile.operations.iter().map(|it| it.self_ns).sum();
    near("profile", recorded + profile.outside_ns, profile.step_ns, profile.step_ns);
    let stretch = number(&case["profile"]["stretch"]);
    for explained in list(&case["operations"]) {
        let own_ns: f64 = match explained["name"].as_str() {
            Some(name) => {
                let own = profile.operations.iter().filter(|it| it.name == name);
                own.map(|it| it.self_ns).sum()
            }
            None => profile.outside_ns,
        };
        near("operation", stretch * number(&explained["ns"]), own_ns, profile.step_ns);
    }
    let time = number(&case["time_ns"]);
    near("step", stretch * time, profile.step_ns, profile.step_ns);
    for whole in ["parts", "operations"] {
        near(whole, sum(&case[whole], "ns"), time, time);
    }
    let difference = &case["difference"];
    if difference.is_object() {
        let whole = number(&difference["difference_ns"]);
        near("difference", sum(&difference["operations"], "difference_ns"), whole, time);
    }
}

/// int8wo converts its weight to float32 in every step; the baseline has nothing to convert, and the same product.
fn a_weight_is_converted(cases: &Cases, workspace: &TestWorkspace) {
    let records: Vec<Record> = workspace.records("new", "inference");
    for (size, elements) in [("1x2048x2048", 2048 * 2048_u64), ("1x4096x8192", 4096 * 8192)] {
        let of = |variant: &str| format!("inference/explain/linear/cpu/{variant}/f32-{size}");
        let int8wo = cases.case(&of("int8wo"));
        let share = number(&stated(int8wo, "converts_weight")["share"]);
        let parts = share_of_parts(int8wo, "weight_conversion");
        assert!((parts - share).abs() < TOLERANCE, "{parts}: {int8wo:#}");
        let mut conversions =
            list(&int8wo["parts"]).iter().filter(|it| it["kind"] == "weight_conversion");
        assert_eq!(conversions.next().expect("a conversion")["operation"], "aten::copy_");
        // It reads a byte and writes four of each element.
        let copy = operation(int8wo, "aten::copy_");
        assert_eq!(copy["calls"], 1.0);
        assert_eq!(copy["bytes"], 5 * elements);
        let record = records.iter().find(|it| it.full_id == of("int8wo")).expect("a record");
        let profile = record.profile.as_ref().expect("a profile");
        let copy = profile.operations.iter().find(|it| it.name == "aten::copy_").expect("a copy");
        assert_eq!(copy.dtypes[..2], ["float32", "int8"], "{copy:?}");

        let change = |name: &str| {
            let it = changed(int8wo, name);
            (it["change"].as_str(), number(&it["baseline_calls"]), number(&it["calls"]))
        };
        assert_eq!(change("aten::copy_"), (Some("added"), 0.0, 1.0));
        assert_eq!(change("aten::mm"), (Some("changed"), 1.0, 1.0));
        let baseline = cases.case(&of("baseline"));
        assert_eq!(statement(baseline, "converts_weight"), None);
        assert_eq!(share_of_parts(baseline, "weight_conversion"), 0.0);
    }
}

/// A weight of 128 MiB is read once per step, from memory, or from the last cache where that one is as large.
fn a_decode_is_memory_bound(cases: &Cases, workspace: &TestWorkspace) {
    let decode = cases.case(DECODE);
    let bound = stated(decode, "memory_bound");
    let records: Vec<Record> = workspace.records("new", "inference");
    let record = records.iter().find(|it| it.full_id == DECODE).expect("measured");
    let caches = &record.environment.host.caches;
    let holding = caches.iter().filter(|it| it.bytes >= number(&decode["bytes"]) as u64);
    let level = holding.map(|it| it.level).min();
    assert_eq!(bound["level"], level.map_or("memory".to_owned(), |it| format!("L{it}")));
    let parts = share_of_parts(decode, "memory_limit");
    assert!((parts - number(&bound["share"])).abs() < TOLERANCE, "{parts}: {bound}");
    // The weight, the input and the output, which the product alone moves.
    let bytes = 4 * (4096 * 8192 + 4096 + 8192_u32);
    assert_eq!(decode["bytes"], bytes);
    assert_eq!(operation(decode, "aten::mm")["bytes"], bytes);
    let limit = &decode["limit"];
    assert_eq!(limit["bound"], "memory");
    assert_near(&limit["bytes_ns"], f64::from(bytes) / number(&limit["bandwidth_gbps"]));
    assert_near(&limit["share"], number(&limit["ns"]) / number(&decode["time_ns"]));
}

/// An output of 48 MiB is 12 288 pages of 4 KiB, which the C library gives back after every step.
fn fresh_pages_are_mapped(cases: &Cases) {
    let gelu = cases.case(GELU);
    let faults = stated(gelu, "page_faults");
    let pages = f64::from(4 * 12 * 1024 * 1024) / page_bytes();
    // The pages of the page table are faults of the same kind, and few.
    assert!((pages..1.02 * pages).contains(&number(&faults["faults"])), "{faults}");
    let parts = share_of_parts(gelu, "page_faults");
    assert!((parts - number(&faults["share"])).abs() < TOLERANCE, "{parts}: {faults}");
}

/// Attention on equal numbers, with three dimensions and with four.
fn attention_is_dispatched_by_dimensions(cases: &Cases) {
    let case = cases.case(SDPA_3D);
    let fused = cases.case(&SDPA_3D.replace("sdpa-3d", "fused"));
    let dispatched = stated(case, "other_dispatch");
    let name = |key: &str| dispatched[key].as_str().expect("a name").to_owned();
    assert!(name("operation").ends_with("_math"), "{dispatched}");
    assert!(name("instead_of").contains("flash"), "{dispatched}");
    assert_eq!(dispatched["other"], fused["full_id"]);
    assert_near(&dispatched["ratio"], number(&fused["time_ns"]) / number(&case["time_ns"]));
    // The composite takes two products, and the other one none.
    assert_eq!(operation(case, &name("operation"))["calls"], 1.0);
    assert_eq!(operation(case, "aten::bmm")["calls"], 2.0);
    assert_eq!(operation(fused, &name("instead_of"))["calls"], 1.0);
    assert!(list(&fused["operations"]).iter().all(|it| it["name"] != "aten::bmm"), "{fused:#}");
}

/// The product of oneDNN takes the place of ATen's, whichever is faster.
fn a_product_is_onednns(cases: &Cases) {
    let of = |variant: &str| {
        cases.case(&format!("fusion/explain/linear_bias/cpu/{variant}/f32-128x512x512"))
    };
    let (case, unfused) = (of("mkldnn"), of("unfused"));
    let other = stated(case, "other_library");
    assert_eq!(other["library"], "onednn");
    assert_eq!(other["instead_of_library"], "aten");
    assert_eq!(other["other"], unfused["full_id"]);
    assert_near(&other["ratio"], number(&unfused["time_ns"]) / number(&case["time_ns"]));
    let (own, before) = (&other["operation"], &other["instead_of"]);
    let [own, before] = [own, before].map(|name| name.as_str().expect("a name"));
    assert_eq!(before, "aten::mm");
    let replaced = changed(case, own);
    assert_eq!(replaced["change"], "replaced");
    assert_eq!(replaced["instead_of"], before);
    assert_eq!(replaced["baseline_calls"], 1.0);
    assert_eq!(replaced["calls"], 1.0);
    assert_near(&replaced["ns"], number(&operation(case, own)["ns"]));
    assert_near(&replaced["baseline_ns"], number(&operation(unfused, before)["ns"]));
}

/// The sibling copies its input first, which is half of its bytes. Torch copies the factor into a tensor on both sides,
/// by the same operation.
fn a_copy_is_found(cases: &Cases) {
    let copied = cases.case(COPIED);
    let added = stated(copied, "added_operation");
    assert_eq!(added["operation"], "aten::copy_");
    assert_eq!(added["calls"], 1.0);
    let baseline = cases.case(&COPIED.replace("copied", "kernel"));
    let more = |field: &str| {
        let [own, other] = [copied, baseline].map(|case| operation(case, "aten::copy_"));
        number(&own[field]) - number(&other[field])
    };
    assert_eq!(more("calls"), 1.0);
    assert_eq!(more("bytes"), f64::from(2 * 4 * ELEMENTS));
    let changes = list(&copied["difference"]["operations"]).iter();
    let large = changes.filter(|it| {
        it["operation"] == "aten::copy_" && it["shapes"].to_string().contains(&ELEMENTS.to_string())
    });
    let [change] = large.collect::<Vec<_>>()[..] else { panic!("not one such copy: {copied:#}") };
    assert_eq!(change["change"], "added");
    assert_eq!(change["baseline_calls"], 0.0);
    assert_eq!(change["calls"], 1.0);
}

//! Kernels of authors: found where they lie, measured, or refused for what is wrong with them.

use std::collections::BTreeMap;
use std::path::Path;

use plan::{JsonFloat, Outcome, Record};
use serde_json::json;

use crate::workspace::TestWorkspace;

type Records = BTreeMap<String, Record>;

/// One test, because each step stands on the one before.
#[test]
fn from_a_file_to_its_record() {
    let workspace = TestWorkspace::new();
    let listed = workspace.listed("kernels", "drop_in");
    assert_eq!(listed, workspace.planned("kernels/drop_in.yml"));
    workspace.bench("kernels", &["--test", "saxpy/cpu/kernel/f32"]);

    let said = workspace.failing_bench("kernels", &["^kernels/drop_in/"]);
    let records: Records = workspace
        .records::<Record>("new", "kernels")
        .into_iter()
        .map(|record| (record.full_id.clone(), record))
        .collect();
    assert_eq!(records.keys().collect::<Vec<_>>().len(), listed.len(), "{said}");
    assert!(listed.iter().all(|id| records.contains_key(id)), "{said}");
    a_kernel_of_plain_rust(&workspace, &records);
    its_sibling_of_torch(&records);
    what_is_not_run(&records);
    what_is_wrong(&records);
    functions(&records);
    assert_eq!(find_record(&records, "readme/cpu/kernel/f32-default").outcome, Outcome::Measured);
}

/// The README's kernel is a file of this package, so it is built and measured.
#[test]
fn the_readmes_kernel_is_here() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |file: &str| std::fs::read_to_string(package.join(file)).expect(file);
    let readme = read("../../README.md");
    let block = readme.split("```rust\n").nth(1).and_then(|it| it.split("```").next());
    assert_eq!(block.expect("a block"), read("kernels/readme/kernel.rs"));
}

#[track_caller]
fn find_record<'a>(records: &'a Records, id: &str) -> &'a Record {
    let id = format!("kernels/drop_in/{id}");
    records.get(&id).unwrap_or_else(|| panic!("{id} is none of {:?}", records.keys()))
}

#[track_caller]
fn reason<'a>(records: &'a Records, id: &str, status: &str) -> &'a str {
    let outcome = &find_record(records, id).outcome;
    assert_eq!(outcome.status(), status, "{id}: {outcome:?}");
    outcome.reason().expect("written down")
}

/// Its vectors, and nothing else, are its memory; its bench.yaml is what was done.
fn a_kernel_of_plain_rust(workspace: &TestWorkspace, records: &Records) {
    for (precision, bytes, at_least) in [("f32", 4, 120.0), ("f64", 8, 280.0)] {
        let record = find_record(records, &format!("saxpy/cpu/kernel/{precision}-1000-2.5"));
        assert_eq!(record.outcome, Outcome::Measured);
        assert!(workspace.median_ns(&record.case, "new").is_some());
        let accuracy = record.accuracy.as_ref().expect("checked");
        assert!(accuracy.sqnr_db.0 > at_least, "{accuracy:?}");
        assert_eq!(accuracy.rows_checked, 1000);
        let facts = record.kernel.as_ref().expect("a kernel's");
        assert_eq!(json!(facts.problem_size), json!({ "elements": 1000, "a": 2.5 }));
        assert_eq!((facts.flops, facts.bytes), (Some(2000), Some(3000 * bytes)));
        assert_eq!((facts.determinism_std, facts.runs), (Some(JsonFloat(0.0)), 3));
        let memory = record.measures.memory.expect("counted");
        assert_eq!((memory.inputs_bytes, memory.weights_bytes), (2000 * bytes, 0));
        assert_eq!(memory.outputs_bytes, 1000 * bytes);
        let step = memory.step;
        assert_eq!((step.peak_bytes, step.total_bytes, step.allocations), (0, 0, 0));
        let latency = record.measures.latency.expect("taken");
        // Twenty were asked for; a call takes microseconds, so percentiles are cheap.
        assert_eq!((latency.calls, record.measures.calls_ns.len()), (500, 500));
        assert!(latency.p50_ns <= latency.p90_ns.expect("of 500"), "{latency:?}");
        assert!(latency.p90_ns <= latency.p99_ns, "{latency:?}");
        assert_eq!(record.planned.expect("planned").samples, 20);
        assert_eq!(record.case.settings.seed, 1337);
        let work = record.case.work.kernel().expect("a kernel's");
        assert_eq!(json!(work.metadata), json!({ "author": "nobody", "tags": ["level-1"] }));
        assert_eq!(record.kernels, ["kernels/saxpy/kernel.rs"]);
    }
}

/// It is paired with its baseline, has its inputs and its reference, and its memory is torch's.
fn its_sibling_of_torch(records: &Records) {
    let record = find_record(records, "saxpy/cpu/torch/f32-1000-2.5");
    assert_eq!(record.outcome, Outcome::Measured);
    let [pair] = &record.pairs[..] else { panic!("{:?}", record.no_pair) };
    assert_eq!(pair.against, "kernels/drop_in/saxpy/cpu/kernel/f32-1000-2.5");
    let accuracy = record.accuracy.as_ref().expect("checked");
    assert!(accuracy.sqnr_db.0 > 120.0, "it was given the same: {accuracy:?}");
    assert!(record.kernel.as_ref().expect("a kernel's").has_reference);
    let memory = record.measures.memory.expect("counted");
    assert_eq!(memory.inputs_bytes, 8000);
    let step = memory.step;
    // The product and the sum; torch wraps the number in a tensor of a few bytes.
    assert_eq!(step.peak_bytes, 8000);
    assert!((8000..8100).contains(&step.total_bytes), "{step:?}");
}

fn what_is_not_run(records: &Records) {
    let skipped = reason(records, "saxpy/cpu/kernel/f64-4000-2.5", "skipped");
    let condition = "problem.elements > 2000 and not cuda.available";
    if !tch::Cuda::is_available() {
        assert_eq!(skipped, format!("too large (skip_conditions: `{condition}`)"));
    }
    assert_eq!(find_record(records, "saxpy/cpu/kernel/f32-4000-2.5").outcome, Outcome::Measured);
    let unsupported = reason(records, "saxpy/cpu/kernel/f8-1000-2.5", "unsupported");
    assert!(unsupported.starts_with("cpu, fp8: "), "{unsupported}");
    let unlucky = reason(records, "unlucky/cpu/kernel/f32-default", "unsupported");
    assert_eq!(unlucky, "cpu, fp32: seven is unlucky", "refused while it runs");
}

fn what_is_wrong(records: &Records) {
    assert_eq!(find_record(records, "coarse/cpu/kernel/f64-1").outcome, Outcome::Measured);
    let coarse = reason(records, "coarse/cpu/kernel/f64-1000", "failed");
    let named = coarse.contains("`max_error` is ") && coarse.contains("its tolerance of 1e-6");
    assert!(named && !coarse.contains("relative_error"), "{coarse}");
    let panics = reason(records, "panics/cpu/kernel/f32-default", "failed");
    assert!(panics.contains("panics.rs:") && panics.contains("out of bounds"), "{panics}");
    let errors = reason(records, "errors/cpu/kernel/f32-default", "failed");
    assert!(errors.contains("cannot be multiplied (2x3 and 2x3)"), "{errors}");
    let in_place = reason(records, "in_place/cpu/kernel/f32-default", "failed");
    assert!(in_place.starts_with("run 2 of 3 is wrong"), "{in_place}");
}

fn functions(records: &Records) {
    let unverified = find_record(records, "unverified/cpu/kernel/f32-default");
    assert_eq!(unverified.outcome, Outcome::Measured);
    let accuracy = unverified.accuracy.as_ref().expect("looked at");
    assert!(accuracy.relative_error.0.is_nan() && accuracy.rows_checked == 0, "{accuracy:?}");
    let facts = unverified.kernel.as_ref().expect("a kernel's");
    assert_eq!(json!(facts.problem_size), json!({ "count": 500 }), "its own default");
    assert_eq!((facts.flops, facts.bytes, facts.has_reference), (Some(500), None, false));
    let note = "no reference: its output is unverified";
    assert!(unverified.notes.iter().any(|it| it == note), "{:?}", unverified.notes);
    let memory = unverified.measures.memory.expect("counted");
    let step = memory.step;
    assert_eq!(memory.inputs_bytes, 0);
    assert_eq!((step.peak_bytes, step.total_bytes, step.allocations), (2000, 2000, 1));

    let drawn = find_record(records, "drawn/cpu/kernel/f32-default");
    assert_eq!(drawn.outcome, Outcome::Measured);
    let facts = drawn.kernel.as_ref().expect("a kernel's");
    assert_eq!((facts.has_reference, facts.determinism_std), (true, Some(JsonFloat(0.0))));
}

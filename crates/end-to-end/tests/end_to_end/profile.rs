//! A profile of a real case, whose figures are held against each other and against the trace.

use std::fs;

use plan::{OperationProfile, Profile, ProfileFileKind, Record};
use serde_json::Value;

use crate::workspace::TestWorkspace;

const DECODE: &str = "inference/explain/linear/cpu/baseline/f32-1x4096x8192";
/// Most of a long step that is outside of its operations, as the book promises it.
const MOST_OUTSIDE: f64 = 0.05;
/// How near the times in the trace are to the figures, as a share of the step. A callee that seems to end after its caller
/// is cut there.
const NEAR: f64 = 1e-4;

/// One product with a weight of 128 MiB: operations that leave much of such a step out have missed some. Another program
/// that takes the core between two operations takes it from the step alone, so several profiles may be needed.
#[test]
fn operations_make_up_a_long_step() {
    let workspace = TestWorkspace::new();
    let profiled = |_| {
        workspace.bench("inference", &["--profile", "--quick", &format!("^{DECODE}$")]);
        let mut records: Vec<Record> = workspace.records("new", "inference");
        assert_eq!(records.len(), 1);
        let profile = records.remove(0).profile.expect("a profile");
        let share = profile.outside_ns / profile.step_ns;
        assert!(share >= 0.0, "{profile:?}");
        (profile, share)
    };
    let is_made_up = |(_, share): &(Profile, f64)| *share <= MOST_OUTSIDE;
    let (profile, _) = (0..5).map(profiled).find(is_made_up).expect("a step of operations");
    let own: f64 = profile.operations.iter().map(|it| it.self_ns).sum();
    assert!(own >= (1.0 - MOST_OUTSIDE) * profile.step_ns, "{own}: {profile:?}");

    let trace = profile.file(ProfileFileKind::Trace).expect("a trace");
    let text =
        fs::read_to_string(workspace.path("criterion-torch").join(&trace.path)).expect("readable");
    let trace: Value = serde_json::from_str(&text).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let complete: Vec<&Value> = events.iter().filter(|event| event["ph"] == "X").collect();
    let steps: Vec<&Value> = complete.iter().copied().filter(|it| is_step(it)).collect();
    assert_eq!(steps.len() as u64, profile.steps);
    let mean = |sum: f64| sum / profile.steps as f64;
    let near = |a: f64, b: f64| (a - b).abs() <= NEAR * profile.step_ns;
    let step_ns = mean(steps.iter().map(|it| duration_ns(it)).sum());
    assert!(near(step_ns, profile.step_ns), "{step_ns}: {profile:?}");
    for operation in profile.operations.iter().filter(|it| it.is_leaf) {
        let of_it = complete.iter().filter(|it| it["name"] == *operation.name);
        let in_steps = of_it.filter(|it| steps.iter().any(|step| is_in(it, step)));
        let total_ns = mean(in_steps.map(|it| duration_ns(it)).sum());
        let expected = totals(&profile.operations, &operation.name);
        assert!(near(total_ns, expected), "{total_ns}: {operation:?}");
    }
}

fn is_step(event: &Value) -> bool {
    event["name"].as_str().is_some_and(|name| name.starts_with("ProfilerStep#"))
}

fn ns(event: &Value, key: &str) -> f64 {
    1e3 * event[key].as_f64().unwrap_or_else(|| panic!("no {key} in {event}"))
}

fn duration_ns(event: &Value) -> f64 {
    ns(event, "dur")
}

fn is_in(event: &Value, step: &Value) -> bool {
    let (begin, end) = (ns(step, "ts"), ns(step, "ts") + duration_ns(step));
    (begin..end).contains(&ns(event, "ts"))
}

/// The time of all entries of an operation, which differ by their shapes.
fn totals(operations: &[OperationProfile], name: &str) -> f64 {
    operations.iter().filter(|it| it.name == name).map(|it| it.total_ns).sum()
}

use plan::Device;

use super::super::testing::{CASE_FILE, case};
use super::*;

fn judged(check: Option<&str>, backend: &str) -> Result<(), Refusal> {
    let case = case(CASE_FILE, &[("steps", 7.into())]);
    let work = case.work.kernel().expect("a kernel's");
    let skip = SkipCondition { check: check.map(str::to_owned), reason: "not here".to_owned() };
    let fact = |name: &str| match name {
        "backend" => Some(FactValue::Text(backend.to_owned())),
        "cuda.available" => Some(FactValue::Flag(false)),
        "problem.steps" => facts::value(name, &case, work),
        _ => None,
    };
    judge(&skip, work, &fact)
}

#[test]
fn a_condition_that_holds_skips_in_the_authors_words() {
    assert_eq!(judged(None, "cpu"), Err(Refusal::Skipped("not here".to_owned())));
    assert_eq!(judged(Some("backend == 'cuda'"), "cpu"), Ok(()));
    let expected = "not here (skip_conditions: `backend == 'cuda'`)";
    let skipped = Err(Refusal::Skipped(expected.to_owned()));
    assert_eq!(judged(Some("backend == 'cuda'"), "cuda"), skipped);
    assert!(judged(Some("problem.steps > 6"), "cpu").is_err());
    assert_eq!(judged(Some("problem.steps > 7"), "cpu"), Ok(()));
}

#[test]
fn what_is_not_known_here_fails_by_name_unless_nobody_asks() {
    let unknown = "device.compute_capability < 8.0";
    let Err(Refusal::Failed(text)) = judged(Some(unknown), "cpu") else { panic!("not failed") };
    assert!(text.contains("device.compute_capability") && text.contains(unknown), "{text}");
    assert_eq!(judged(Some(&format!("cuda.available and {unknown}")), "cpu"), Ok(()));
    let Err(Refusal::Failed(text)) = judged(Some("problem.grid > 1"), "cpu") else { panic!() };
    assert!(text.contains("problem.grid"), "{text}");
}

/// Every fact has a value of its own kind, or this machine does not say.
#[test]
fn every_fact_is_of_its_kind() {
    let mut unknown = Vec::new();
    let case = case(CASE_FILE, &[]);
    for fact in plan::Fact::ALL {
        match facts::value(fact.as_str(), &case, case.work.kernel().expect("a kernel's")) {
            Some(value) => assert_eq!(value.kind(), fact.kind(), "{fact}"),
            None => unknown.push(fact.as_str()),
        }
    }
    println!("{unknown:?}");
    assert!(unknown.contains(&"device.compute_capability"), "of a cpu");
    for known in ["backend", "precision", "os", "cpu.arch", "threads", "torch.version"] {
        assert!(!unknown.contains(&known), "{known}");
    }
}

#[test]
fn of_an_absent_device_the_author_has_the_word() {
    if tch::Cuda::is_available() {
        crate::skip::hardware("there is a CUDA device");
        return;
    }
    let skipped = |checks: &[&str]| {
        let mut case = case(CASE_FILE, &[]);
        case.device = Device::Cuda;
        let plan::Work::Kernel(work) = &mut case.work else { panic!("a kernel's") };
        work.skip_conditions.extend(checks.iter().map(|check| SkipCondition {
            check: Some((*check).to_owned()),
            reason: "needs tensor cores".to_owned(),
        }));
        let work = case.work.kernel().expect("a kernel's");
        match check(&case, work) {
            Err(Refusal::Skipped(text)) => text,
            other => panic!("{other:?}"),
        }
    };
    const UNKNOWN: &str = "device.compute_capability < 8.0";
    let authors = "needs tensor cores (skip_conditions: `not cuda.available`)";
    assert_eq!(skipped(&["not cuda.available"]), authors);
    assert_eq!(skipped(&[UNKNOWN, "not cuda.available"]), authors);
    for none_holds in [&[][..], &["cuda.available"], &[UNKNOWN]] {
        let text = skipped(none_holds);
        assert!(text.starts_with("cuda: "), "{none_holds:?}: {text}");
    }
}

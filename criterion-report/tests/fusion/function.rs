//! The function for Rust programs.

use criterion_report::fusion::{Family, PatternResult, pattern_results};

use super::*;

fn found(families: &[Family]) -> Vec<PatternResult> {
    let criterion = fixture("fusion").join("criterion");
    pattern_results(&criterion, families).expect("a readable fixture").results
}

/// The names are defined once, so the value under a name is the same in the function and in the document.
#[test]
fn the_function_returns_what_the_document_has() {
    let all = found(Family::ALL);
    assert!(all.len() > 5);
    let document = document(&report(""));
    for result in &all {
        let own = serde_json::to_value(result).expect("serialises");
        assert_eq!(&own, entry(&document, &result.full_id), "{}", result.full_id);
    }
    let fused = all.iter().find(|it| it.full_id.ends_with("full_attention/cpu/fused/f32-4x256x64"));
    let fused = fused.expect("the fixture has it");
    assert_eq!((fused.fusion_pattern.as_str(), fused.speedup_factor), ("FullAttention_SDPA", 6.12));
    assert_eq!((fused.unfused_bytes, fused.memory_reduction), (Some(4_194_304), Some(0.75)));
    assert_eq!((fused.variant.as_str(), fused.dtype.as_str()), ("fused", "torch.float32"));
    assert!(fused.further.contains_key("speedup_low"));
}

#[test]
fn families_select_and_nothing_is_dropped() {
    let criterion = fixture("fusion").join("criterion");
    let linear = pattern_results(&criterion, &[Family::Linear]).expect("a readable fixture");
    assert!(!linear.results.is_empty());
    assert!(linear.results.iter().all(|it| it.fusion_pattern.starts_with("Linear_")));
    let all = pattern_results(&criterion, Family::ALL).expect("a readable fixture");
    let report = report("");
    let cases = FusionResult::all(&report).len() + report.missing.len();
    assert_eq!(all.results.len() + all.unmeasured.len(), cases);
    assert!(!all.unmeasured.is_empty(), "the fixture has some");
    assert!(all.unmeasured.iter().all(|it| !it.reason.is_empty()), "{:?}", all.unmeasured);
    assert_eq!(all.unreadable, [""; 0]);
    let nothing = pattern_results(std::path::Path::new("/nowhere/criterion"), Family::ALL);
    let error = nothing.expect_err("no records").to_string();
    assert!(error.contains("/nowhere/criterion-torch"), "{error}");
}

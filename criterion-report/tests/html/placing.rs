//! The places of cases in the roofline and between speed and accuracy.

use std::collections::BTreeSet;

use criterion_report::views::calibration::{Operation, Placement, RooflineSet};
use criterion_report::views::fronts;

use crate::common::report;

#[test]
fn what_made_a_roof_reaches_it_exactly() {
    let report = report("calibration");
    let [skyline] = &RooflineSet::all(report.rows())[..] else { panic!("one machine") };
    let mut makers = BTreeSet::new();
    for row in report.rows() {
        let (Some(roof), Ok(placement)) = (skyline.over(row), Placement::from_row(row)) else {
            continue;
        };
        let share = placement.under(roof).expect("a bandwidth").share;
        let own = Operation::from_row(row).map(|operation| operation.key.to_string());
        let is_of = |best: &str| own.as_deref() == Some(best);
        let peak = roof.peak_gflops.measured.as_ref().expect("measured");
        let bandwidth = roof.bandwidth_gbps.as_ref().and_then(|limit| limit.measured.as_ref());
        if is_of(&peak.operation) || is_of(&bandwidth.expect("measured").operation) {
            assert!((share - 1.0).abs() < 1e-12, "{}: {share}", row.full_id());
            makers.extend(own);
        } else if own.is_some_and(|own| own.starts_with("matmul")) {
            assert!(share < 1.0, "{}: {share}", row.full_id());
        }
    }
    assert_eq!(
        makers.into_iter().collect::<Vec<_>>(),
        [
            "matmul_device=cpu_dtype=bfloat16_size=2048_threads=2",
            "matmul_device=cpu_dtype=float32_size=2048_threads=1",
            "matmul_device=cpu_dtype=float32_size=2048_threads=2",
            "triad_device=cpu_dtype=float32_size=256MiB_threads=1",
            "triad_device=cpu_dtype=float32_size=256MiB_threads=2",
        ]
    );
}

#[test]
fn another_machine_has_no_part_in_a_roof() {
    let calibrated = report("calibration");
    let [skyline] = &RooflineSet::all(calibrated.rows())[..] else { panic!("one machine") };
    let mut row = calibrated.rows()[0].clone();
    assert!(skyline.over(&row).is_some());
    row.record.environment_mut().torch.threads = 64;
    assert!(skyline.over(&row).is_none(), "no roof on 64 threads");
    let mut row = calibrated.rows()[0].clone();
    row.record.environment_mut().host.cpu_model = "another".to_owned();
    assert!(skyline.over(&row).is_none(), "no roof of another processor");
}

#[test]
fn siblings_compete_and_stream_does_not() {
    let report = report("compiled-modes");
    let all = fronts(&report);
    let mut front: Vec<&str> = all.iter().filter(|(_, is_on)| **is_on).map(|(&id, _)| id).collect();
    front.sort_unstable();
    assert_eq!(
        front,
        [
            "fusion/quick/linear_bias_relu/cpu/unfused+compile/f32-512x1024x1024",
            "inference/quick/linear/cpu/baseline+compile/bf16-1024x1024x1024",
            "inference/quick/linear/cpu/baseline+max-autotune/bf16-1024x1024x1024",
            "inference/quick/linear/cpu/int8wo+max-autotune/bf16-1024x1024x1024",
            "operators/quick/gelu/cpu/rust/f32-32x512x768",
        ]
    );
    assert!(!all["inference/quick/linear/cpu/baseline/bf16-1024x1024x1024"]);
    assert!(all.keys().all(|id| !id.contains("/stream/")));
}

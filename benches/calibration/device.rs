//! A GPU kernel of known duration under the device's clock.

use criterion_torch::harness::self_test;

use crate::check::{Check, Finding};

pub const CHECK: Check =
    Check { name: "device", what: "a CUDA kernel of known duration, by events", run };

fn run() -> Vec<Finding> {
    const NAME: &str = "kernel of known duration";
    match self_test::self_test(0) {
        Ok(found) => vec![Finding::new(
            NAME,
            format!("{:.1} µs, known {:.1} µs", found.measured_ns / 1e3, found.expected_ns / 1e3),
            "within 5 %",
            (found.measured_ns / found.expected_ns - 1.0).abs() <= 0.05,
        )],
        Err(reason) => vec![Finding::skipped(NAME, reason.to_string())],
    }
}

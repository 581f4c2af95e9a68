//! A GPU kernel of known duration under the device's clock.

use criterion_torch::harness::self_test;

use super::{DEVICE, findings};
use crate::check::{Check, Finding};

pub const CHECK: Check =
    Check { name: "device", what: "a CUDA kernel of known duration, by events", run };

fn run() -> Vec<Finding> {
    const NAME: &str = "kernel of known duration";
    findings(NAME, || {
        let found = self_test::self_test(DEVICE)?;
        Ok(vec![Finding::new(
            NAME,
            format!(
                "{:.1} µs between events, {:.1} µs with launches hidden, {:.1} µs by the host",
                found.measured_ns / 1e3,
                found.hidden_ns / 1e3,
                found.host_ns / 1e3
            ),
            format!("{:.1} µs, all within 5 %", found.expected_ns / 1e3),
            found.error() <= 0.05,
        )])
    })
}

//! Checks that only a CUDA device can answer.

pub mod board;
pub mod device_copy;
pub mod device_memory;
pub mod energy;
pub mod fault;
pub mod flush;
pub mod fused;
pub mod launches;

use std::process::{ExitCode, Output};

use criterion_torch::native::cuda;
use criterion_torch::refusal::Refusal;
use tch::{Device, Kind, Tensor};

use crate::check::{Check, Finding, Format};
use crate::child;

/// They run in this order; the last ones are hard on the device.
pub const CHECKS: &[Check] = &[
    launches::DEVICE_CHECK,
    launches::CHECK,
    flush::CHECK,
    device_memory::CHECK,
    energy::CHECK,
    board::CHECK,
    device_copy::CHECK,
    fused::CHECK,
    fault::CHECK,
    device_memory::OOM,
];

/// Parts of them that run in processes of their own.
pub const PARTS: &[child::NamedPart] =
    &[(board::PART, board::child), (fused::PATTERN, fused::child), (fault::PART, fault::child)];

/// The device that cases run on.
const DEVICE: usize = 0;

/// A part's findings on its standard output, for [`reported`].
fn report(findings: &[Finding]) -> ExitCode {
    for finding in findings {
        println!("{}", finding.line("", Format::Json));
    }
    ExitCode::SUCCESS
}

/// The findings of a part, and how its process ended where that is no success.
pub fn reported(part: &str, output: &Output) -> Vec<Finding> {
    let said = String::from_utf8_lossy(&output.stdout);
    let read = |line| {
        serde_json::from_str(line)
            .unwrap_or_else(|error| Finding::error(part, format!("{line}: {error}")))
    };
    let mut findings: Vec<_> = said.lines().map(read).collect();
    if !output.status.success() || findings.is_empty() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let error = format!("{}, {}", output.status, errors.trim());
        findings.push(Finding::new(part, error, "findings, and exit status: 0", false));
    }
    findings
}

/// Whether the device still computes: a product whose result is known.
fn works_on() -> Finding {
    let product = || -> Result<bool, Refusal> {
        let ones = Tensor::f_ones([64, 64], (Kind::Float, Device::Cuda(DEVICE)))?;
        let right = ones.f_matmul(&ones)?.f_equal(&ones.f_mul_scalar(64.0)?)?;
        cuda::synchronize(DEVICE)?;
        Ok(right)
    };
    let (found, right) = match product() {
        Ok(true) => ("every value is 64".to_owned(), true),
        Ok(false) => ("another result".to_owned(), false),
        Err(error) => (error.to_string(), false),
    };
    Finding::new("a product of ones [64, 64]", found, "every value is 64", right)
}

fn micros(ns: f64) -> String {
    format!("{:.2} µs", ns / 1e3)
}

//! An illegal access of a kernel: it breaks the device for its process, which the harness has to see,
//! and for no other.

use std::process::ExitCode;

use criterion_torch::harness::self_test::lasting_fault;
use criterion_torch::kernel::{Kernel, KernelContext};
use criterion_torch::native::cuda;
use criterion_torch::refusal::Refusal;
use tch::{Device, Kind, Tensor};

use super::{DEVICE, report, reported, works_on};
use crate::check::{Check, Finding};
use crate::child;

pub const CHECK: Check = Check {
    name: "fault",
    what: "a kernel that writes to address 0, in a process of its own",
    device: plan::Device::Cuda,
    run,
};

/// The process that it breaks.
pub const PART: &str = "gpu-fault";

/// The kernel with which `cargo xtask gpu-check` breaks a run of cases.
#[path = "../../../configs/suites/gpu-check/faulty/a_illegal_access.rs"]
mod illegal_access;

fn run() -> Result<Vec<Finding>, Refusal> {
    // The device is in use here when the other process breaks it for itself.
    let before = works_on();
    if before.is_failure() {
        return Ok(vec![before.prefixed("before the fault")]);
    }
    let output = child::run(PART, &[], &[])?;
    let mut found = reported("the process with the fault", &output);
    found.push(works_on().prefixed("after it, in another process"));
    Ok(found)
}

/// Provokes the error and reports what follows.
pub fn child() -> ExitCode {
    report(&Check { run: provoked, ..CHECK }.findings())
}

fn provoked() -> Result<Vec<Finding>, Refusal> {
    let device = Device::Cuda(DEVICE);
    let context = KernelContext {
        work: (),
        dtype: plan::Dtype::Float32,
        device: plan::Device::Cuda,
        torch_device: device,
        threads: 1,
        seed: 0,
    };
    let ones = Tensor::f_ones([16], (Kind::Float, device))?;
    add(&ones)?;
    let mut kernel =
        illegal_access::IllegalAccess::prepare(&illegal_access::ProblemSize {}, &[], &context)?;
    cuda::synchronize(DEVICE)?;
    let launched = kernel.run(&[]);
    let synchronize = || cuda::synchronize(DEVICE).map_err(Refusal::from);
    let first = launched.and_then(|()| synchronize());
    let text = first.as_ref().err().map(Refusal::to_string).unwrap_or_default();
    let found = vec![
        refused("the device after the kernel", &first),
        refused("the device, asked again", &synchronize()),
        refused("an addition by libtorch", &add(&ones)),
        lasting(lasting_fault(&text)),
    ];
    // Freeing them would ask the device.
    std::mem::forget((ones, kernel));
    Ok(found)
}

fn add(ones: &Tensor) -> Result<(), Refusal> {
    std::mem::forget(ones.f_add(ones)?);
    Ok(cuda::synchronize(DEVICE)?)
}

/// Whether the call failed for the access.
pub fn refused(name: &str, result: &Result<(), Refusal>) -> Finding {
    let text = result.as_ref().err().map_or_else(|| "no error".to_owned(), Refusal::to_string);
    Finding::new(
        name,
        // Advice follows.
        text.lines().next().unwrap_or_default(),
        "an error that names an illegal memory access",
        matches!(result, Err(Refusal::Failed(text)) if text.contains("illegal memory access")),
    )
}

/// Whether the harness takes the error for one that stays.
pub fn lasting(reason: Option<String>) -> Finding {
    let stays = reason.is_some();
    Finding::new(
        "what the harness says of later cases",
        reason.unwrap_or_else(|| "nothing: it takes the device for a sound one".to_owned()),
        "that every call has failed since this one",
        stays,
    )
}

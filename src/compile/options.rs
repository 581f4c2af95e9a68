//! The options of a compilation, and whether this machine can do it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ::libtorch::packages::Store;
use plan::{CompileMode, Device};

use super::toolchain;
use crate::refusal::Refusal;
use ::libtorch::Interpreter;

/// How a step is compiled.
#[derive(Debug, Clone)]
pub struct Options {
    /// Mode of `torch.compile`.
    pub mode: CompileMode,
    /// Threads of a generated kernel on the CPU, as many as eager has.
    pub threads: u64,
    /// The plan's device, and its tch device.
    pub device: Device,
    /// The device of the step's tensors.
    pub place: tch::Device,
    /// The limit of one compilation.
    pub timeout: Duration,
}

/// Whether steps can be compiled here: asked before anything is made for them. Only the first call
/// for a device starts processes.
///
/// # Errors
/// Unsupported where packages are not compiled for the device; skipped, with the remedy, where
/// there is no C++ compiler, or no Python has torch and no package is kept.
pub fn available(device: Device) -> Result<(), Refusal> {
    expressible(device)?;
    toolchain::compiler()?;
    match python_for(device) {
        // A package that is kept needs no Python.
        Err(Refusal::Skipped(_)) if store()?.is_some_and(|it| it.holds_any()) => Ok(()),
        found => found,
    }
}

/// The store of packages; `None` if no variable names the cache.
pub(super) fn store() -> Result<Option<Store>, Refusal> {
    Store::of_environment().map_err(Refusal::Failed)
}

/// Demands that packages are compiled for the device.
pub(super) fn expressible(device: Device) -> Result<(), Refusal> {
    match device {
        Device::Cpu | Device::Cuda => Ok(()),
        Device::Rocm | Device::Xpu | Device::Mps => Err(Refusal::Unsupported(format!(
            "packages are compiled for cpu and cuda, not for {device}"
        ))),
    }
}

/// Notes on parts of the mode that have no effect.
pub(super) fn notes(device: Device, mode: CompileMode) -> Vec<String> {
    let graphs = mode.without_cuda_graph().is_some();
    let note = || format!("{} asks for CUDA graphs, which a CPU does not have", mode.as_str());
    (device == Device::Cpu && graphs).then(note).into_iter().collect()
}

/// Demands a Python that can compile for a device; asked once for each.
pub(super) fn python_for(device: Device) -> Result<(), Refusal> {
    static ASKED: Mutex<Option<HashMap<Device, Result<(), Refusal>>>> = Mutex::new(None);
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    asked.get_or_insert_default().entry(device).or_insert_with(|| ask(device)).clone()
}

fn ask(device: Device) -> Result<(), Refusal> {
    let python = Interpreter::compiling();
    demand(python, "torch", ::libtorch::VERSION)?;
    if device == Device::Cuda {
        demand(python, "triton", ::libtorch::TRITON)?;
    }
    Ok(())
}

fn demand(python: &Interpreter, package: &str, release: &str) -> Result<(), Refusal> {
    let remedy = format!(
        "run `{}`, or set {} to a python that has {package} {release}",
        ::libtorch::command::with_arguments("setup --python"),
        ::libtorch::COMPILER_PYTHON
    );
    python.demand(package, release, &remedy).map_err(Refusal::Skipped)
}

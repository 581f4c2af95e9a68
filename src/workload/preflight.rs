//! Checks of a case before anything is built.

use plan::{
    Case, Device, Dtype, FusionVariant, Implementation, Mode, ModelWork, Pass, Variant, Work, cost,
};

use super::{Refusal, graphed, kernel};
use crate::{compile, device, models, recipes};

/// Whether the case can be built and run here. Builds nothing, and allocates nothing but the small
/// matrices that a recipe may try its products on.
///
/// Unsupported, whatever the machine: a mode that is not built, a constraint that the shape breaks.
/// Skipped: an absent device, or nothing that compiles where the case is compiled. Out of memory: a case that would
/// not fit into what the host has left.
pub fn preflight(case: &Case) -> Result<(), Refusal> {
    precision(case)?;
    // The device does not matter yet: an absent device is a skip, a constraint comes first.
    let nowhere = tch::Device::Cpu;
    match &case.work {
        Work::Model(work) => model(case, work)?,
        Work::Fusion(work) => kernel::context(case, *work, nowhere).check()?,
        Work::Operator(work) => kernel::context(case, *work, nowhere).check()?,
        Work::Probe(work) => kernel::context(case, *work, nowhere).check()?,
        Work::Kernel(work) => kernel::check(case, work)?,
    }
    device::resolve(case.device)?;
    compilation(case)?;
    memory(case)
}

/// A case that is compared with float64 does not run in float64.
fn precision(case: &Case) -> Result<(), Refusal> {
    if matches!(case.work, Work::Kernel(_)) || Dtype::ALL.contains(&case.dtype) {
        return Ok(());
    }
    Err(Refusal::Unsupported(format!("{}: only kernels of one's own run in it", case.dtype)))
}

fn model(case: &Case, work: &ModelWork) -> Result<(), Refusal> {
    combination(case, work)?;
    models::check(work.model, work.shape)?;
    let linears = models::sizes(work.model, work.shape)?.linears;
    recipes::check_layers(work.variant.recipe, &linears)?;
    for linear in linears {
        let (variant, device, dtype) = (work.variant, case.device, case.dtype);
        let context = recipes::LayerContext { variant, device, dtype, linear };
        match case.mode {
            Mode::Training => recipes::check_trained(case, &context)?,
            _ => recipes::check(&context)?,
        }
    }
    output(work)
}

fn combination(case: &Case, work: &ModelWork) -> Result<(), Refusal> {
    let refuse = |what: String| Err(Refusal::Unsupported(what));
    let Variant { packed, preallocated, graph, .. } = work.variant;
    if case.mode == Mode::Training && (packed || preallocated || graph) {
        return refuse(format!("`{}`: a training step has no such form", work.variant));
    }
    if work.variant.compile.is_some() && work.variant.autograd {
        return refuse(format!(
            "`{}`: what is compiled are the operations themselves",
            work.variant
        ));
    }
    if let (Some(pass), Some(_)) = (work.pass.filter(|pass| pass.is_step()), work.variant.compile) {
        return refuse(format!(
            "`{pass}` is not compiled: an update writes into the parameters, which are inputs of what is \
             compiled; `{}` is",
            Pass::ForwardBackward
        ));
    }
    if work.variant.compile.is_some() && (packed || preallocated) {
        return refuse(format!(
            "`{}`: what is compiled is the recipe as it is, with an output of its own at every step",
            work.variant
        ));
    }
    if graph { graphed::check(case, work) } else { Ok(()) }
}

/// Whether what is to be compiled consists of libtorch's operations, one by one, and whether the
/// machine has what compiles them.
fn compilation(case: &Case) -> Result<(), Refusal> {
    if case.work.compile().is_none() {
        return Ok(());
    }
    let apart = match &case.work {
        Work::Operator(work) => {
            matches!(work.implementation, Implementation::Aten | Implementation::AtenComposed)
        }
        Work::Fusion(work) => work.variant == FusionVariant::Unfused,
        Work::Model(_) | Work::Probe(_) | Work::Kernel(_) => true,
    };
    if !apart {
        return Err(Refusal::Unsupported(format!(
            "`{}`: compiled are an operator's `aten` and `aten-composed`, and the `unfused` variant \
             of a pattern",
            case.work.variant()
        )));
    }
    compile::available(case.device)
}

fn output(work: &ModelWork) -> Result<(), Refusal> {
    let variant = work.variant;
    let is_refused = variant.preallocated
        && models::architecture(work.model)?.ends_with_linear()
        && !recipes::writes_out(variant.recipe)?;
    if is_refused {
        return Err(Refusal::Unsupported(format!(
            "out: the last operation of recipe `{}` has no form that writes into a preallocated \
             output; the case without `+out` is measured beside it",
            variant.recipe
        )));
    }
    Ok(())
}

fn memory(case: &Case) -> Result<(), Refusal> {
    let sizes = case.work.model().map(|work| models::sizes(work.model, work.shape)).transpose()?;
    // A CUDA device's free memory is not asked for: its allocator reports exhaustion cleanly, where
    // the host's kernel would kill the process.
    let needed = match case.device {
        Device::Cpu => cost::memory_bytes_of(case, sizes.as_ref()),
        Device::Cuda | Device::Rocm | Device::Xpu | Device::Mps => {
            cost::host_bytes_of(case, sizes.as_ref())
        }
    };
    match device::available_bytes() {
        Some(available) => fits(needed, available),
        None => Ok(()),
    }
}

fn fits(needed: u64, available: u64) -> Result<(), Refusal> {
    if needed <= available {
        return Ok(());
    }
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    Err(Refusal::Oom(format!(
        "needs about {:.1} GiB, {:.1} GiB available",
        gib(needed),
        gib(available)
    )))
}

#[cfg(test)]
#[path = "preflight_tests.rs"]
mod tests;

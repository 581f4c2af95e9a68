//! What can be known about a case before anything is built.

use plan::{Case, Device, Mode, ModelKind, Variant, cost};

use super::Refusal;
use crate::recipes::{self, Site};
use crate::{device, models};

/// Whether the case can be built and run here. Builds nothing, and allocates nothing but the small
/// matrices that a recipe may try its products on.
///
/// Unsupported, whatever the machine: a mode or compilation that is not built, a
/// constraint that the shape breaks. Skipped: an absent device. Out of memory: a case that would
/// not fit into what the host has left.
pub fn preflight(case: &Case) -> Result<(), Refusal> {
    combination(case)?;
    models::check(case.model, case.shape)?;
    for linear in plan::linears(case.model, case.shape) {
        let (variant, device, dtype) = (Variant::of(case), case.device, case.dtype);
        recipes::check(&Site { variant, device, dtype, linear })?;
    }
    output(case)?;
    device::resolve(case.device)?;
    memory(case)
}

fn combination(case: &Case) -> Result<(), Refusal> {
    let refuse = |what: String| Err(Refusal::Unsupported(what));
    if case.mode == Mode::Training {
        return refuse(format!("benchmark_mode: {}: not available in this version", case.mode));
    }
    if let Some(mode) = case.compile {
        return refuse(format!(
            "torch_compile_mode: {mode}: compiled variants are not available; the eager case is \
             measured beside it"
        ));
    }
    Ok(())
}

/// Of the models, `linear` alone ends with its linear layer.
fn output(case: &Case) -> Result<(), Refusal> {
    let last = case.model == ModelKind::Linear;
    if case.preallocated && last && !recipes::writes_out(case.recipe) {
        return Err(Refusal::Unsupported(format!(
            "out: the last operation of recipe `{}` has no form that writes into a preallocated \
             output; the case without `+out` is measured beside it",
            case.recipe
        )));
    }
    Ok(())
}

fn memory(case: &Case) -> Result<(), Refusal> {
    // A CUDA device's free memory is not asked for: its allocator reports exhaustion cleanly, where
    // the host's kernel would kill the process.
    let needed = match case.device {
        Device::Cpu => cost::memory_bytes(case),
        Device::Cuda | Device::Xpu | Device::Mps => cost::drawing_bytes(case),
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

//! What can be known about a case before anything is built.

use plan::{Case, Device, Mode};

use super::Refusal;
use crate::{device, inputs, models, recipes};

/// Whether the case can be built and run here. Builds and allocates nothing.
///
/// Unsupported, whatever the machine: a mode, compilation, sparsity or recipe that is not built, a
/// constraint that the shape breaks. Skipped: an absent device. Out of memory: a case that would
/// not fit into what the host has left.
pub fn preflight(case: &Case) -> Result<(), Refusal> {
    combination(case)?;
    models::check(case.model, case.shape)?;
    for linear in models::linears(case.model, case.shape) {
        recipes::check(case.recipe, case.device, linear)?;
    }
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
    if let Some(sparsity) = case.sparsity {
        return refuse(format!(
            "sparsity_config_recipe_names: {sparsity}: sparse layouts are not available in this \
             version; the dense case is measured beside it"
        ));
    }
    Ok(())
}

fn memory(case: &Case) -> Result<(), Refusal> {
    // A CUDA device's free memory is not asked for: its allocator reports exhaustion cleanly,
    // where the host's kernel would kill the process.
    if case.device != Device::Cpu {
        return Ok(());
    }
    match device::available_bytes() {
        Some(available) => fits(needed_bytes(case)?, available),
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

/// An estimate, rather high than low, of the memory that building, checking and running a case
/// takes at once.
fn needed_bytes(case: &Case) -> Result<u64, Refusal> {
    // A reference converts bounded blocks, and its activations are bounded (see `verify`).
    const REFERENCE: u128 = 384 << 20;
    let element = u128::from(case.dtype.bytes());
    let input: u128 = inputs::size(case.model, case.shape).into_iter().map(u128::from).product();
    let (mut weights, mut stored, mut largest, mut activations) = (0, 0, 0, 0);
    for linear in models::linears(case.model, case.shape) {
        let (rows, k, n) = (u128::from(linear.rows), u128::from(linear.k), u128::from(linear.n));
        let elements = u64::try_from(k * n).unwrap_or(u64::MAX);
        weights += k * n;
        stored += u128::from(recipes::stored_bytes(case.recipe, elements, case.dtype)?);
        largest = largest.max(k * n);
        activations += rows * (k + n);
    }
    // Weights are drawn in float32. Quantizing holds a weight's reciprocal product and its rounded
    // form beside it. int8wo converts its largest weight during a step.
    let drawing = weights * element + largest * 4;
    let quantizing = weights * element + stored + 2 * largest * element;
    // What goes into and out of every layer at once; int8dq holds int32 sums, their conversion and
    // a product together.
    let running = stored + largest * element + activations * (4 + 2 * element);
    let reference = REFERENCE.min(16 * (weights + activations));
    let total = input * element + drawing.max(quantizing).max(running) + reference;
    Ok(u64::try_from(total).unwrap_or(u64::MAX))
}

#[cfg(test)]
#[path = "preflight_tests.rs"]
mod tests;

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
    let Some(available) = device::available_bytes() else { return Ok(()) };
    fits(needed_bytes(case), available)
}

fn fits(needed: u64, available: u64) -> Result<(), Refusal> {
    if needed <= available {
        return Ok(());
    }
    let (needed, available) = (gib(needed), gib(available));
    Err(Refusal::Oom(format!("needs about {needed:.1} GiB, {available:.1} GiB available")))
}

#[allow(clippy::cast_precision_loss, reason = "shown with one decimal")]
fn gib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 30)
}

/// An upper estimate of the memory that building, checking and running a case takes at once.
fn needed_bytes(case: &Case) -> u64 {
    let element = u128::from(case.dtype.bytes());
    let input: u128 = inputs::size(case.model, case.shape).into_iter().map(u128::from).product();
    let (mut weights, mut stored, mut largest, mut activations) = (0, 0, 0, input);
    for linear in models::linears(case.model, case.shape) {
        let (rows, k, n) = (u128::from(linear.rows), u128::from(linear.k), u128::from(linear.n));
        weights += k * n;
        stored += u128::from(recipes::stored_bytes(
            case.recipe,
            linear.k.saturating_mul(linear.n),
            case.dtype.bytes(),
        ));
        largest = largest.max(k * n);
        activations += rows * (k + n);
    }
    // Weights are drawn in float32; quantizing takes two copies of a weight at once, and int8wo
    // converts a whole weight at every step.
    let building = weights * element + largest * 4;
    let quantizing = weights * element + stored + 2 * largest * element;
    // Inputs and outputs of every layer at once, and as much again for int32 sums and the check.
    let running = stored + largest * element + activations * (element + 4);
    // The reference's blocks and activations are bounded.
    let reference = 384 << 20;
    let total = input * element
        + building.max(quantizing).max(running)
        + reference.min(weights * 16 + (activations * 16));
    u64::try_from(total).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_memory_is_said_in_figures() {
        let refusal = fits(3 << 30, 1 << 30).unwrap_err();
        assert_eq!(refusal, Refusal::Oom("needs about 3.0 GiB, 1.0 GiB available".to_owned()));
        assert_eq!(fits(1, 1), Ok(()));
    }
}

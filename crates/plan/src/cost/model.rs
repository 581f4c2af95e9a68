//! The cost of a model, by formula.

use crate::catalogue::REFERENCE_BYTES;
use crate::linears::ModelSizes;
use crate::variant::Variant;
use crate::words::{Device, Dtype, Recipe};
use crate::work::ModelWork;

/// The most bytes that `k · n` weights of a layer take as a case stores them: values, and for each
/// group of a quantized one a scale, of most recipes in the dtype before quantization and with a zero point
/// of 64 bits.
/// Small groups are the reason for counting these: 4 bits in groups of 32 really take 5.
fn stored_bytes(work: &ModelWork, dtype: Dtype, k: u128, n: u128) -> u128 {
    let element = u128::from(dtype.bytes());
    let facts = work.variant.recipe.facts();
    let Some(bits) = facts.weight_bits else { return k * n * element };
    let groups = n * facts.group.map_or(1, |group| k.div_ceil(group.into()));
    (k * n * u128::from(bits)).div_ceil(8) + groups * facts.scale.unwrap_or(element + 8)
}

/// Whether weights are padded along k, to multiples of 1024, for the 4-bit kernel on CUDA.
fn pads(work: &ModelWork, device: Device) -> bool {
    let uintx = work.variant.packed && matches!(work.variant.recipe, Recipe::Uintx { .. });
    device == Device::Cuda && (uintx || matches!(work.variant.recipe, Recipe::Int4wo { .. }))
}

/// Bytes that exist for a moment.
struct Temporaries {
    /// For each weight of the largest layer, while it is quantized or pruned.
    building: u128,
    /// For each weight of the largest layer, while a step runs.
    weight: u128,
    /// For each element that goes into a layer or comes out, while a step runs.
    activation: u128,
}

/// Whole float32 copies that the sequences of operations hold at once, above the measured ones of
/// each family.
fn temporaries(work: &ModelWork, dtype: Dtype) -> Temporaries {
    let element = u128::from(dtype.bytes());
    let Variant { recipe, sparsity, packed, .. } = work.variant;
    let facts = recipe.facts();
    // Weight, values, error, what shrinks it, and the parameters of small groups.
    let quantizing = if facts.has_solver { 24 } else { facts.quantizing };
    // Magnitudes, sorted, and the places of each in 64 bits.
    let pruning = if sparsity.is_some() { 20 } else { 0 };
    let is_read = packed || facts.reads_stored || recipe == Recipe::Baseline && sparsity.is_none();
    Temporaries {
        building: pruning.max(quantizing),
        // Else it is converted, dequantized or expanded, by way of float32.
        weight: if is_read { 0 } else { 8 + element },
        // int8dq holds int32 sums, their conversion and a product together.
        activation: facts.activation.unwrap_or(4 + 2 * element),
    }
}

/// An estimate, in bytes and rather high than low, of the memory that building, checking and
/// running a case takes at once.
pub(super) fn memory_bytes(
    work: &ModelWork,
    sizes: &ModelSizes,
    dtype: Dtype,
    device: Device,
) -> u64 {
    let element = u128::from(dtype.bytes());
    let input = elements(&sizes.input);
    let (mut weights, mut largest, mut stored, mut activations) = (0, 0, 0, 0);
    for linear in &sizes.linears {
        let (rows, k, n) = (u128::from(linear.rows), u128::from(linear.k), u128::from(linear.n));
        let k = if pads(work, device) { k.next_multiple_of(1024) } else { k };
        weights += k * n;
        stored += stored_bytes(work, dtype, k, n);
        largest = largest.max(k * n);
        activations += rows * (k + n);
    }
    let temporaries = temporaries(work, dtype);
    // Weights are drawn in float32, and all of them before the first is quantized.
    let drawing = weights * element + largest * 4;
    let building = weights * element + stored + largest * temporaries.building;
    // Inputs and outputs of every layer at once.
    let running = stored + largest * temporaries.weight + activations * temporaries.activation;
    let reference = u128::from(REFERENCE_BYTES).min(16 * (weights + activations));
    let held = match work.variant.preallocated {
        true => elements(&sizes.output),
        false => 0,
    };
    let total = (input + held) * element + drawing.max(building).max(running) + reference;
    u64::try_from(total).unwrap_or(u64::MAX)
}

/// Bytes that a step moves: the stored weights, and the temporaries made of weights and activations, which are written
/// and read.
#[cfg(feature = "estimate")]
pub(super) fn step_bytes(work: &ModelWork, sizes: &ModelSizes, dtype: Dtype) -> u64 {
    let temporaries = temporaries(work, dtype);
    let of = |it: &crate::linears::LinearShape| {
        let (rows, k, n) = (u128::from(it.rows), u128::from(it.k), u128::from(it.n));
        let stored = stored_bytes(work, dtype, k, n);
        stored + 2 * k * n * temporaries.weight + 2 * rows * (k + n) * temporaries.activation
    };
    let once: u128 = sizes.linears.iter().map(of).sum();
    // Backward reads and writes weights and activations twice more.
    let times = if work.pass.is_some() { 3 } else { 1 };
    u64::try_from(once * times).unwrap_or(u64::MAX)
}

/// The bytes of the host's memory that drawing weights and input takes at once, on whatever device they
/// end: one weight at a time in float32 and in the case's dtype, then the input.
pub(super) fn drawing_bytes(sizes: &ModelSizes, dtype: Dtype) -> u64 {
    let element = u128::from(dtype.bytes());
    let weights = sizes.linears.iter();
    let weights = weights.map(|it| u128::from(it.k) * u128::from(it.n) * (4 + element));
    let input = elements(&sizes.input) * element;
    u64::try_from(weights.fold(input, u128::max)).unwrap_or(u64::MAX)
}

fn elements(size: &[u64]) -> u128 {
    size.iter().fold(1, |product, &size| product.saturating_mul(size.into()))
}

//! What a case costs, by formula: each has its one home here and a worked example in its tests.

use crate::case::{Case, Role};
use crate::linears::{BLOCK_TOKENS, input_size, linears, output_size};
use crate::settings::Sampling;
use crate::words::{CacheMode, Device, ModelKind, Recipe};

/// Fewest samples of a case: criterion takes no fewer.
pub const MIN_SAMPLES: u64 = 10;
/// Half-width of the 95 % interval to aim at, relative to the median, by default.
pub const DEFAULT_TARGET: f64 = 0.01;
/// Seconds that the warm-up may take by default.
pub const DEFAULT_WARM_UP_S: f64 = 0.5;
/// Seconds that sampling may take by default.
pub const DEFAULT_MEASUREMENT_S: f64 = 2.0;

/// Bytes written to empty the cache before a cold step: more than any cache that one device
/// reaches. The largest L3 of a server processor is 504 MB (Intel Xeon 6980P; on AMD's, one core
/// reaches at most 96 MB of its own die), the L2 of an NVIDIA B200 126 MB.
pub const FLUSH_BYTES: u64 = 512 << 20;

/// Bytes that a float64 reference takes at most: it converts bounded blocks, and its activations
/// are bounded.
pub(crate) const REFERENCE_BYTES: u64 = 384 << 20;

/// Floating-point operations of one forward pass, a multiply and an add counted as two. Matrix
/// products only: 2·rows·k·n for each linear layer, and 4m·16²·k for the attention of the
/// transformer block. Saturates at `u64::MAX`, beyond anything that can be run.
pub fn flops(case: &Case) -> u64 {
    let linears = linears(case.model, case.shape);
    let products = linears.iter().map(|linear| product(&[2, linear.rows, linear.k, linear.n]));
    let attention = match case.model {
        ModelKind::Linear | ModelKind::LnLinear(_) => 0,
        ModelKind::TransformerBlock => {
            product(&[4, case.shape.m, BLOCK_TOKENS, BLOCK_TOKENS, case.shape.k])
        }
    };
    products.fold(attention, u64::saturating_add)
}

/// The product of all factors, or `u64::MAX` beyond it.
pub(crate) fn product(factors: &[u64]) -> u64 {
    factors.iter().fold(1, |product, factor| product.saturating_mul(*factor))
}

/// The part of `baseline` bytes that `candidate` does without: 0.25 where it takes three quarters
/// of them, negative where it takes more. `None` of a baseline without bytes.
pub fn reduction(baseline: u64, candidate: u64) -> Option<f64> {
    (baseline > 0).then(|| 1.0 - candidate as f64 / baseline as f64)
}

/// The most bytes that `k · n` weights of a layer take as a case stores them: values, and for each
/// group of a quantized one a scale in the dtype before quantization and a zero point of 64 bits.
/// Small groups are the reason for counting these: 4 bits in groups of 32 really take 5.
fn stored_bytes(case: &Case, k: u128, n: u128) -> u128 {
    let element = u128::from(case.dtype.bytes());
    let Some(bits) = case.recipe.weight_bits() else { return k * n * element };
    let groups = n * case.recipe.group().map_or(1, |group| k.div_ceil(group.into()));
    (k * n * u128::from(bits)).div_ceil(8) + groups * (element + 8)
}

/// Whether weights are padded along k, to multiples of 1024, for the 4-bit kernel on CUDA.
fn pads(case: &Case) -> bool {
    let uintx = case.packed && matches!(case.recipe, Recipe::Uintx { .. });
    case.device == Device::Cuda && (uintx || matches!(case.recipe, Recipe::Int4wo { .. }))
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

/// What the sequences of operations hold at once, in whole float32 copies above what was measured
/// for each family.
fn temporaries(case: &Case) -> Temporaries {
    let element = u128::from(case.dtype.bytes());
    let recipe = case.recipe;
    let quantizing = match recipe {
        // Weight, values, error, what shrinks it, and the parameters of small groups.
        recipe if recipe.has_solver() => 24,
        Recipe::Baseline => 0,
        // Weight, scaled and clamped.
        Recipe::Float8wo | Recipe::Float8dqTensor | Recipe::Float8dqRow | Recipe::Fp6 => 16,
        // Scaled and rounded.
        Recipe::Int8wo { .. }
        | Recipe::Int8dq { .. }
        | Recipe::Int8dqPrefillWoDecode
        | Recipe::Int4wo { .. }
        | Recipe::Gemlitewo { .. }
        | Recipe::Int8DynamicIntx { .. }
        | Recipe::Uintx { .. } => 8,
    };
    let pruning = match case.sparsity {
        // Magnitudes, sorted, and the places of each in 64 bits.
        Some(_) => 20,
        None => 0,
    };
    let weight = match recipe {
        // The operation reads the weight as it is stored.
        _ if case.packed => 0,
        Recipe::Int4wo { .. } | Recipe::Gemlitewo { .. } => 0,
        Recipe::Baseline if case.sparsity.is_none() => 0,
        // It is converted, dequantized or expanded, by way of float32.
        Recipe::Baseline
        | Recipe::Int8wo { .. }
        | Recipe::Int8dq { .. }
        | Recipe::Int8dqPrefillWoDecode
        | Recipe::Float8wo
        | Recipe::Float8dqTensor
        | Recipe::Float8dqRow
        | Recipe::Int8DynamicIntx { .. }
        | Recipe::Uintx { .. }
        | Recipe::Fp6 => 8 + element,
    };
    let activation = match recipe {
        // Quantized by way of float32.
        Recipe::Float8dqTensor | Recipe::Float8dqRow => 16,
        // int8dq holds int32 sums, their conversion and a product together.
        Recipe::Baseline
        | Recipe::Int8wo { .. }
        | Recipe::Int8dq { .. }
        | Recipe::Int8dqPrefillWoDecode
        | Recipe::Int4wo { .. }
        | Recipe::Float8wo
        | Recipe::Gemlitewo { .. }
        | Recipe::Int8DynamicIntx { .. }
        | Recipe::Uintx { .. }
        | Recipe::Fp6 => 4 + 2 * element,
    };
    Temporaries { building: pruning.max(quantizing), weight, activation }
}

/// An estimate, in bytes and rather high than low, of the memory that building, checking and
/// running a case takes at once.
pub fn memory_bytes(case: &Case) -> u64 {
    let element = u128::from(case.dtype.bytes());
    let input: u128 = input_size(case.model, case.shape).into_iter().map(u128::from).product();
    let (mut weights, mut largest, mut stored, mut activations) = (0, 0, 0, 0);
    for linear in linears(case.model, case.shape) {
        let (rows, k, n) = (u128::from(linear.rows), u128::from(linear.k), u128::from(linear.n));
        let k = if pads(case) { k.next_multiple_of(1024) } else { k };
        weights += k * n;
        stored += stored_bytes(case, k, n);
        largest = largest.max(k * n);
        activations += rows * (k + n);
    }
    let temporaries = temporaries(case);
    // Weights are drawn in float32, and all of them before the first is quantized.
    let drawing = weights * element + largest * 4;
    let building = weights * element + stored + largest * temporaries.building;
    // What goes into and out of every layer at once.
    let running = stored + largest * temporaries.weight + activations * temporaries.activation;
    let reference = u128::from(REFERENCE_BYTES).min(16 * (weights + activations));
    let flush = match case.settings.cache {
        CacheMode::Cold => u128::from(FLUSH_BYTES),
        CacheMode::Hot => 0,
    };
    let held = match case.preallocated {
        true => output_size(case.model, case.shape).into_iter().map(u128::from).product(),
        false => 0,
    };
    let total = (input + held) * element + drawing.max(building).max(running) + reference + flush;
    u64::try_from(total).unwrap_or(u64::MAX)
}

/// The bytes of the host's memory that drawing weights and input takes at once, on whatever device they
/// end: one weight at a time in float32 and in the case's dtype, then the input.
pub fn drawing_bytes(case: &Case) -> u64 {
    let element = u128::from(case.dtype.bytes());
    let input: u128 = input_size(case.model, case.shape).into_iter().map(u128::from).product();
    let weights = linears(case.model, case.shape)
        .into_iter()
        .map(|linear| u128::from(linear.k) * u128::from(linear.n) * (4 + element));
    u64::try_from(weights.fold(input * element, u128::max)).unwrap_or(u64::MAX)
}

/// A rough estimate, in seconds, of measuring a case with all its passes, on a quiet machine with an
/// assumed 50 GFLOP/s per thread on a CPU and 50 TFLOP/s on a GPU. Real machines are faster or
/// slower; the estimate is for telling minutes from days.
pub fn seconds(case: &Case) -> f64 {
    /// Seconds of a batch of short steps.
    const BATCH: f64 = 0.002;
    /// Batches of the pilot, and samples, on a quiet machine.
    const PILOT: f64 = 17.0;
    const SAMPLES: f64 = 30.0;
    /// Passes that take a fixed time, and criterion's own analysis.
    const PASSES: f64 = 0.2;
    let rate = match case.device {
        Device::Cpu => 50e9 * f64::from(case.settings.threads),
        _ => 50e12,
    };
    let step = flops(case) as f64 / rate;
    let batch = step.max(BATCH);
    let Sampling { samples, warm_up_s, measurement_s, target: _ } = case.settings.sampling;
    let warm_up = (PILOT * batch).min(warm_up_s.unwrap_or(DEFAULT_WARM_UP_S)).max(3.0 * step);
    let sampling = match samples {
        Some(samples) => samples as f64 * batch,
        None => (SAMPLES * batch).min(measurement_s.unwrap_or(DEFAULT_MEASUREMENT_S)),
    };
    // Building and checking are about four steps' worth of work.
    let own = PASSES + 4.0 * step + warm_up + sampling.max(MIN_SAMPLES as f64 * step);
    match case.role {
        Role::Baseline => own,
        // Its pairs take as long again.
        Role::Candidate => 2.0 * own,
    }
}

#[cfg(test)]
#[path = "cost_tests.rs"]
mod tests;

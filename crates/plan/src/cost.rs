//! What a case costs, by formula: each has its one home here and a worked example below.

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

fn product(factors: &[u64]) -> u64 {
    factors.iter().fold(1, |product, factor| product.saturating_mul(*factor))
}

/// The most bytes that `k · n` weights of a layer take as a case stores them: values, and for each
/// group of a quantized one a scale in the dtype before quantization and a zero point of 64 bits.
/// (Small groups are the reason for counting them: 4 bits in groups of 32 have 2.5 bits more.)
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

/// What upstream's sequence of operations holds at once, where recipes differ in it by much.
fn temporaries(case: &Case) -> Temporaries {
    let element = u128::from(case.dtype.bytes());
    let recipe = case.recipe;
    // Product with the reciprocal, rounded, clamped, and the integers in 32 bits.
    let integers = 3 * element + 4;
    // Weight, scaled, clamped and rescaled in float32.
    let floats = 16;
    // Weight, values, error and what shrinks it, in float32.
    let solver = 20;
    // Magnitudes in float32, sorted, and the places of each in 64 bits.
    let pruning = 24;
    let quantizing = match recipe {
        Recipe::Baseline => 0,
        _ if recipe.has_solver() => solver,
        Recipe::Float8wo | Recipe::Float8dqTensor | Recipe::Float8dqRow | Recipe::Fp6 => floats,
        _ => integers,
    };
    let weight = match recipe {
        _ if case.packed => 0,
        // A sparse weight is expanded.
        Recipe::Baseline => {
            if case.sparsity.is_some() {
                element
            } else {
                0
            }
        }
        // The kernel dequantizes.
        Recipe::Int4wo { .. } | Recipe::Gemlitewo { .. } => 0,
        // Dequantized in float32, then converted.
        Recipe::Float8wo | Recipe::Fp6 => 8 + element,
        // Unpacked, without its zero points, and scaled.
        Recipe::Uintx { .. } => 4 + 2 * element,
        // int8wo converts, others dequantize, expand or transpose.
        _ => 2 * element,
    };
    // int8dq holds int32 sums, their conversion and a product together.
    let integer_sums = 4 + 2 * element;
    let activation = match recipe {
        // Quantized by way of float32.
        Recipe::Float8dqTensor | Recipe::Float8dqRow => 16 + element,
        // Quantized and dequantized.
        Recipe::Int8DynamicIntx { .. } => 4 + 3 * element,
        _ => integer_sums,
    };
    let building = if case.sparsity.is_some() { quantizing.max(pruning) } else { quantizing };
    Temporaries { building, weight, activation }
}

/// An estimate, in bytes and rather high than low, of the memory that building, checking and
/// running a case takes at once.
pub fn memory_bytes(case: &Case) -> u64 {
    /// The float64 reference converts bounded blocks, and its activations are bounded.
    const REFERENCE: u128 = 384 << 20;
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
    let reference = REFERENCE.min(16 * (weights + activations));
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
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{Config, expand};

    fn first_case(model: &str, shape: &str) -> Case {
        let text = format!(
            "model_params:\n  - model_type: {model}\n    matrix_shapes:\n      - name: custom\n        shapes: [{shape}]\n"
        );
        let config = Config::parse(Path::new("test.yml"), &text).expect("a valid config");
        expand(&[config]).expect("a valid plan").groups.remove(0).cases.remove(0)
    }

    #[test]
    fn flops_of_the_worked_examples() {
        assert_eq!(flops(&first_case("linear", "[10, 64, 32]")), 2 * 10 * 64 * 32);
        // T = 32 tokens: 24·32·64² + 4·2·16²·64.
        assert_eq!(flops(&first_case("transformer_block", "[2, 64, 64]")), 3_145_728 + 131_072);
        let enormous = first_case("linear", "[16777216, 16777216, 16777216]");
        assert_eq!(flops(&enormous), u64::MAX);
    }

    #[test]
    fn the_memory_estimate_covers_what_is_surely_needed() {
        let text = "quantization_config_recipe_names: [int8wo]\nmodel_params: { matrix_shapes: [{ name: custom, shapes: [[1024, 8192, 8192]] }] }";
        let config = Config::parse(Path::new("test.yml"), text).expect("a valid config");
        let cases = expand(&[config]).expect("a valid plan").groups.remove(0).cases;
        let (baseline, int8wo) = (memory_bytes(&cases[0]), memory_bytes(&cases[1]));
        let weight = 8192 * 8192 * 2;
        assert!(baseline > 3 * weight, "float32 and bfloat16 at once");
        assert!(baseline < 8 * weight, "but not without measure");
        assert!(int8wo > 3 * weight + weight / 2, "original, int8, two temporaries");
    }

    /// The part that a case's own recipe decides, for m = 1, k = n = 4096 in bfloat16: 2^24 weights.
    fn beyond_the_fixed_part(recipe: &str, sparsity: &str) -> u64 {
        let text = format!(
            "quantization_config_recipe_names: [{recipe}]\n\
             sparsity_config_recipe_names: [{sparsity}]\n\
             model_params: {{ matrix_shapes: [{{ name: custom, shapes: [[1, 4096, 4096]] }}] }}"
        );
        let config = Config::parse(Path::new("test.yml"), &text).expect("a valid config");
        let cases = expand(&[config]).expect("a valid plan").groups.remove(0).cases;
        let case = cases.iter().find(|case| !case.packed && case.role == Role::Candidate);
        // The input's 8192 bytes, and the bounds of the reference: 16 bytes per weight and activation.
        memory_bytes(case.expect("a candidate")) - 8192 - 16 * (4096 * 4096 + 2 * 4096)
    }

    #[test]
    fn memory_of_the_worked_examples() {
        const WEIGHTS: u64 = 4096 * 4096;
        const ROWS: u64 = 4096;
        for (recipe, building) in [
            // Original, int8, scale and zero point of each row, 3·2 + 4 bytes of temporaries.
            ("int8wo", (2 + 1 + 10) * WEIGHTS + 10 * ROWS),
            // Half a byte, and 10 for each 32 weights.
            ("int4wo-32", (2 + 10) * WEIGHTS + WEIGHTS / 2 + 10 * WEIGHTS / 32),
            // Five copies in float32.
            ("int4wo-128-hqq", (2 + 20) * WEIGHTS + WEIGHTS / 2 + 10 * WEIGHTS / 128),
            ("gemlitewo-4-64", (2 + 20) * WEIGHTS + WEIGHTS / 2 + 10 * WEIGHTS / 64),
            // HQQ's integers take a byte each.
            ("uintx-2-64-hqq", (2 + 1 + 20) * WEIGHTS + 10 * WEIGHTS / 64),
            ("float8wo", (2 + 1 + 16) * WEIGHTS + 10 * ROWS),
            ("fp6", (2 + 16) * WEIGHTS + WEIGHTS * 6 / 8 + 10 * ROWS),
        ] {
            assert_eq!(beyond_the_fixed_part(recipe, "null"), building, "{recipe}");
        }
        // Original, stored as dense at the most, and what sorting by magnitude takes.
        assert_eq!(beyond_the_fixed_part("baseline", "semi-sparse"), (2 + 2 + 24) * WEIGHTS);
    }

    #[test]
    fn the_kernel_on_cuda_takes_padded_weights() {
        let memory = |recipe: &str, device: &str, k: u64| {
            let text = format!(
                "quantization_config_recipe_names: [{recipe}]\n\
                 model_params: {{ device: {device}, matrix_shapes: [{{ name: custom, shapes: [[1, {k}, 4096]] }}] }}"
            );
            let config = Config::parse(Path::new("test.yml"), &text).expect("a valid config");
            memory_bytes(&expand(&[config]).expect("a valid plan").groups[0].cases[1])
        };
        let input = |k: u64| 2 * k;
        let padded = memory("int4wo-64", "cuda", 1280) - input(1280);
        assert_eq!(padded, memory("int4wo-64", "cuda", 2048) - input(2048));
        assert!(memory("int4wo-64", "cpu", 1280) < padded);
        assert!(memory("int8wo", "cuda", 1280) < memory("int8wo", "cuda", 2048));
    }

    #[test]
    fn a_step_may_take_more_than_building() {
        // 2^24 rows: 128 elements of each go in or come out, with 16 + 2 bytes against 4 + 2·2.
        let text = "quantization_config_recipe_names: [float8dq-row]\n\
                    model_params: { matrix_shapes: [{ name: custom, shapes: [[16777216, 64, 64]] }] }";
        let config = Config::parse(Path::new("test.yml"), text).expect("a valid config");
        let cases = expand(&[config]).expect("a valid plan").groups.remove(0).cases;
        let activations = (1 << 24) * (64 + 64);
        let float8 = memory_bytes(&cases[1]) - memory_bytes(&cases[0]);
        let bfloat16_weights = 64 * 64 * 2;
        let float8_weights = 64 * 64 + 64 * 10;
        let dequantized = 2 * 64 * 64 * 2;
        let temporaries = activations * (18 - 8);
        assert_eq!(float8, temporaries + float8_weights + dequantized - bfloat16_weights);
    }

    #[test]
    fn a_preallocated_output_is_held_beside_the_rest() {
        for (model, output) in [("linear", 10 * 32 * 2), ("transformer_block", 10 * 16 * 64 * 2)] {
            let eager = first_case(model, "[10, 64, 32]");
            let out = Case { preallocated: true, ..eager.clone() };
            assert_eq!(memory_bytes(&out) - memory_bytes(&eager), output, "{model}");
            assert_eq!(flops(&out), flops(&eager), "{model}");
        }
    }

    #[test]
    fn seconds_of_the_worked_example() {
        // 2·10·64·32 operations are nothing: 0.2 + 17·0.002 + 30·0.002, and as much for pairs.
        let baseline = first_case("linear", "[10, 64, 32]");
        let candidate = Case { role: Role::Candidate, ..baseline.clone() };
        assert!((seconds(&baseline) - 0.294).abs() < 1e-4, "{}", seconds(&baseline));
        assert!((seconds(&candidate) - 0.588).abs() < 1e-4, "{}", seconds(&candidate));
        // 2·2¹⁵·2¹⁵·2¹⁵ operations take 1407 s: four for the check, three to warm up, ten samples.
        let large = seconds(&first_case("linear", "[32768, 32768, 32768]"));
        assert!((large / 1407.4 - 17.0).abs() < 1e-2, "{large}");
    }
}

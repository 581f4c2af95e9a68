//! What a case costs, by formula: each has its one home here and a worked example below.

use crate::case::{Case, Role};
use crate::linears::{BLOCK_TOKENS, input_size, linears, output_size};
use crate::settings::Sampling;
use crate::words::{CacheMode, Device, ModelKind};

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

/// Nominal bits per weight as a case stores it, scales aside.
fn weight_bits(case: &Case) -> u64 {
    case.recipe.weight_bits().map_or(case.dtype.bits(), u64::from)
}

/// An estimate, in bytes and rather high than low, of the memory that building, checking and
/// running a case takes at once.
pub fn memory_bytes(case: &Case) -> u64 {
    /// The float64 reference converts bounded blocks, and its activations are bounded.
    const REFERENCE: u128 = 384 << 20;
    let element = u128::from(case.dtype.bytes());
    let input: u128 = input_size(case.model, case.shape).into_iter().map(u128::from).product();
    let (mut weights, mut largest, mut activations) = (0, 0, 0);
    for linear in linears(case.model, case.shape) {
        let (rows, k, n) = (u128::from(linear.rows), u128::from(linear.k), u128::from(linear.n));
        weights += k * n;
        largest = largest.max(k * n);
        activations += rows * (k + n);
    }
    let stored = weights * u128::from(weight_bits(case)) / 8;
    // Weights are drawn in float32. Quantizing holds a weight's reciprocal product and its rounded
    // form beside it. int8wo converts its largest weight during a step.
    let drawing = weights * element + largest * 4;
    let quantizing = weights * element + stored + 2 * largest * element;
    // What goes into and out of every layer at once; int8dq holds int32 sums, their conversion and
    // a product together.
    let running = stored + largest * element + activations * (4 + 2 * element);
    let reference = REFERENCE.min(16 * (weights + activations));
    let flush = match case.settings.cache {
        CacheMode::Cold => u128::from(FLUSH_BYTES),
        CacheMode::Hot => 0,
    };
    let held = match case.preallocated {
        true => output_size(case.model, case.shape).into_iter().map(u128::from).product(),
        false => 0,
    };
    let total = (input + held) * element + drawing.max(quantizing).max(running) + reference + flush;
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

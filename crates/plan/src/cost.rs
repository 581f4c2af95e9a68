//! What a case costs, by formula: each has its one home here and a worked example below.

use crate::case::Case;
use crate::settings::Sampling;
use crate::words::{Dtype, ModelKind};

/// Tokens per batch element of the transformer block, as upstream fixes them.
pub const BLOCK_TOKENS: u64 = 16;
/// Heads of the transformer block, as upstream fixes them.
pub const BLOCK_HEADS: u64 = 8;

/// Sampling when neither the config nor the command line says otherwise.
pub const DEFAULT_SAMPLES: u64 = 30;
/// Seconds of warm-up by default.
pub const DEFAULT_WARM_UP_S: f64 = 0.5;
/// Seconds of sampling by default.
pub const DEFAULT_MEASUREMENT_S: f64 = 2.0;

/// Floating-point operations of one forward pass, a multiply and an add counted as two. Matrix
/// products only: 2mkn for the linear models; for the block with T = 16m tokens, 24Tk² of its
/// four linears and 4m·16²·k of its attention (semantics §4.8). Saturates at `u64::MAX`, beyond
/// anything that can be run.
pub fn flops(case: &Case) -> u64 {
    let (m, k, n) = (case.shape.m, case.shape.k, case.shape.n);
    match case.model {
        ModelKind::Linear | ModelKind::LnLinear(_) => product(&[2, m, k, n]),
        ModelKind::TransformerBlock => {
            let linears = product(&[24, BLOCK_TOKENS, m, k, k]);
            linears.saturating_add(product(&[4, m, BLOCK_TOKENS, BLOCK_TOKENS, k]))
        }
    }
}

fn product(factors: &[u64]) -> u64 {
    factors.iter().fold(1, |product, factor| product.saturating_mul(*factor))
}

/// Elements of the weights of all linears.
fn weight_elements(case: &Case) -> u64 {
    let (k, n) = (case.shape.k, case.shape.n);
    match case.model {
        ModelKind::Linear | ModelKind::LnLinear(_) => k * n,
        // qkv 3k², projection k², two of 4k² in the MLP.
        ModelKind::TransformerBlock => 12 * k * k,
    }
}

/// Elements of the largest single weight.
fn largest_weight_elements(case: &Case) -> u64 {
    match case.model {
        ModelKind::Linear | ModelKind::LnLinear(_) => weight_elements(case),
        ModelKind::TransformerBlock => 4 * case.shape.k * case.shape.k,
    }
}

/// Elements of the input, and of the widest activation that a step makes.
fn activation_elements(case: &Case) -> (u64, u64) {
    let (m, k, n) = (case.shape.m, case.shape.k, case.shape.n);
    match case.model {
        ModelKind::Linear | ModelKind::LnLinear(_) => (m * k, m * k.max(n)),
        ModelKind::TransformerBlock => (BLOCK_TOKENS * m * k, BLOCK_TOKENS * m * 4 * k),
    }
}

/// An upper estimate, in bytes, of the memory that preparing, checking and running a case takes:
/// the weights in the model's dtype, one weight in float32, float64 and the dtype while it is
/// initialised, checked and converted, the input in float32 and the dtype, and four of the widest
/// activations, one of them 32 bits wide.
pub fn memory_bytes(case: &Case) -> u64 {
    let element = case.dtype.bytes();
    let (input, widest) = activation_elements(case);
    weight_elements(case) * element
        + largest_weight_elements(case) * (Dtype::Float32.bytes() + 8 + element)
        + input * (Dtype::Float32.bytes() + element)
        + widest * (3 * element + Dtype::Float32.bytes())
}

/// A rough estimate, in seconds, of measuring a case: warm-up, sampling and check, at an assumed
/// 50 GFLOP/s per thread on a CPU and 50 TFLOP/s on a GPU. Real machines are faster or slower;
/// the estimate is for telling minutes from days.
pub fn seconds(case: &Case) -> f64 {
    let rate = match case.device {
        crate::words::Device::Cpu => 50e9 * f64::from(case.settings.threads),
        _ => 50e12,
    };
    let step = flops(case) as f64 / rate;
    let Sampling { samples, warm_up_s, measurement_s } = case.settings.sampling;
    let samples = samples.unwrap_or(DEFAULT_SAMPLES) as f64;
    let warm_up = warm_up_s.unwrap_or(DEFAULT_WARM_UP_S).max(step);
    let sampling = measurement_s.unwrap_or(DEFAULT_MEASUREMENT_S).max(samples * step);
    // Preparing and checking: an overhead, and about four steps' worth of work.
    0.1 + 4.0 * step + warm_up + sampling
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
    fn the_memory_estimate_covers_the_weights_and_grows_with_the_shape() {
        let small = first_case("linear", "[16, 1024, 1024]");
        let large = first_case("linear", "[16, 4096, 4096]");
        assert!(memory_bytes(&small) > 1024 * 1024 * 2);
        assert!(memory_bytes(&large) > 15 * memory_bytes(&small));
    }
}

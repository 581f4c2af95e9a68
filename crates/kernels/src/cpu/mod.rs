//! Kernels for the CPU. Each exists for several instruction sets ([`Capability`]), one of which is
//! chosen at run time and in its name, and runs on the threads of torch's own operators
//! ([`parallel`]), unless it says otherwise.

mod capability;
mod expand;
mod fp6;
pub mod math;
mod memory;
pub mod parallel;
pub mod pass_through;
pub mod pointwise;
pub mod rows;
pub mod stream;
pub mod vector;
pub mod weight_mm;

use plan::Operator;

pub use capability::Capability;
pub use expand::expand_2_4;
pub use expand::{Path as ExpandPath, expand_2_4_and};
pub use fp6::fp6_unpack;

/// What records call the kernel of an operator.
pub fn names(operator: Operator) -> &'static [&'static str] {
    let names = match operator {
        Operator::LayerNorm => vector::names!("layer_norm"),
        Operator::LayerNormNoAffine => vector::names!("layer_norm_no_affine"),
        Operator::RmsNorm => vector::names!("rms_norm"),
        Operator::Gelu => vector::names!("gelu"),
        Operator::GeluTanh => vector::names!("gelu_tanh"),
        Operator::Silu => vector::names!("silu"),
        Operator::Softmax => vector::names!("softmax"),
        Operator::MseLoss => vector::names!("mse_loss"),
        Operator::CrossEntropy => vector::names!("cross_entropy"),
        Operator::BiasGelu => vector::names!("bias_gelu"),
        Operator::AddLayerNorm => vector::names!("add_layer_norm"),
    };
    names.of(Capability::best())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_which_instructions_run() {
        let used = match Capability::best() {
            Capability::Default => "default",
            Capability::Neon => "neon",
            Capability::Avx2 => "avx2",
            Capability::Avx512 | Capability::Avx512Bf16 => "avx512",
        };
        for operator in Operator::ALL {
            assert_eq!(names(*operator), [format!("criterion_torch::{operator}_{used}")]);
        }
    }
}

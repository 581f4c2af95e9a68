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
pub use expand::Path as ExpandPath;
pub use expand::expand_2_4;
pub use fp6::fp6_unpack;

/// What records call our kernel of an operator: `criterion_torch::gelu_avx512`.
pub fn name(operator: Operator) -> String {
    let instructions = match Capability::best() {
        Capability::Default => "default",
        Capability::Neon => "neon",
        Capability::Avx2 => "avx2",
        Capability::Avx512 | Capability::Avx512Bf16 => "avx512",
    };
    format!("criterion_torch::{operator}_{instructions}")
}

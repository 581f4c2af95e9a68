//! The work of a step, as far as its plan determines it.

use crate::case::Case;
use crate::cost;
use crate::words::{Dtype, Recipe};
use crate::work::Work;

/// Seconds of a step whose work is unknown: user kernels and user models before their first run.
pub const UNKNOWN_S: f64 = 4e-3;

/// Operations, bytes and calls of a step.
pub struct Cost {
    pub flops: u64,
    pub bytes: u64,
    pub calls: f64,
}

/// The cost of a case; `None` for user kernels and user models.
pub fn cost(case: &Case) -> Option<Cost> {
    /// Approximate number of torch operations in a step of a model or a pattern.
    const CALLS: f64 = 10.0;
    let flops = cost::flops(case)?;
    let calls = match case.work {
        Work::Operator(_) | Work::Probe(_) => 1.0,
        Work::Model(_) | Work::Fusion(_) | Work::Kernel(_) => CALLS,
    };
    // Bytes moved by some steps are not computed; the memory that they hold at once is a good approximation.
    let bytes = cost::moved_bytes(case).unwrap_or_else(|| cost::step_bytes(case));
    Some(Cost { flops, bytes, calls })
}

/// How much slower a step's products are than the products that calibration measures.
pub fn slowness(case: &Case) -> f64 {
    /// Emulated products cast their operands and multiply in float32.
    const EMULATED: f64 = 3.0;
    /// libtorch's packed int8 has a vectorized kernel for bfloat16 alone, and a loop for the other dtypes.
    const LOOP: f64 = 40.0;
    match &case.work {
        Work::Model(work) if work.variant.emulated => EMULATED,
        Work::Model(work)
            if work.variant.packed
                && matches!(work.variant.recipe, Recipe::Int8wo { .. })
                && case.dtype != Dtype::BFloat16 =>
        {
            LOOP
        }
        _ => 1.0,
    }
}

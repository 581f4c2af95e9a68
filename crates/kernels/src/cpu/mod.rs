//! Kernels for the CPU. Each exists for several instruction sets ([`Capability`]), one of which is
//! chosen at run time and in its name, and runs on the threads of torch's own operators
//! ([`parallel`]), unless it says otherwise.
//!
//! Every unsafe function that takes a vector asks for a CPU that has its instructions, and is inlined
//! into a function that has them enabled; what it asks for besides stands with it.

#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one promise of the caller's covers the instructions and the elements of a vector"
)]

mod capability;
mod expand;
mod fp6;
mod math;
mod memory;
pub mod parallel;
pub mod pass_through;
mod pointwise;
mod rows;
pub mod stream;
mod vector;
pub mod weight_mm;

use plan::Operator;
use tch::{TchError, Tensor};

use crate::operands::Operands;

pub use capability::Capability;
pub use expand::Path as ExpandPath;
pub use expand::expand_2_4;
pub use fp6::fp6_unpack;
use pointwise::{BiasGelu, Gelu, GeluTanh, Silu};

/// The name of an operator's kernel in records.
pub fn kernel(operator: Operator) -> String {
    Capability::best().kernel(operator.as_str())
}

/// Writes an operator of tensors on the CPU to `out`: of x's size or, of a loss, without dimensions;
/// all of one dtype, float32, bfloat16 or float16. Rows may lie any one stride apart, their elements
/// follow one another.
///
/// Activations may write to x itself. How far results may be off stands with each kernel.
///
/// # Errors
/// Operands that the operator does not have, or lacks; sizes, dtypes or strides other than those; an
/// output that shares memory with an operand; a target that is no class, torch's −100 for a row to be
/// ignored included.
pub fn compute(operator: Operator, operands: &Operands, out: &mut Tensor) -> Result<(), TchError> {
    compute_with(Capability::best(), operator, operands, out)
}

fn no_kernel(operator: Operator) -> TchError {
    TchError::Torch(format!("{operator} has no kernel of ours for these operands"))
}

fn compute_with(
    capability: Capability,
    operator: Operator,
    operands: &Operands,
    out: &mut Tensor,
) -> Result<(), TchError> {
    operands.demand(operator)?;
    let Operands { x, other, bias, .. } = *operands;
    match (operator, other) {
        (Operator::Gelu, _) => pointwise::run::<Gelu>(capability, x, bias, out),
        (Operator::GeluTanh, _) => pointwise::run::<GeluTanh>(capability, x, bias, out),
        (Operator::Silu, _) => pointwise::run::<Silu>(capability, x, bias, out),
        (Operator::BiasGelu, _) => pointwise::run::<BiasGelu>(capability, x, bias, out),
        (Operator::Softmax, _) => rows::softmax(capability, x, out),
        (Operator::MseLoss, Some(target)) => rows::mse_loss(capability, x, target, out),
        (Operator::CrossEntropy, Some(target)) => rows::cross_entropy(capability, x, target, out),
        (
            Operator::LayerNorm
            | Operator::LayerNormNoAffine
            | Operator::RmsNorm
            | Operator::AddLayerNorm,
            _,
        ) => rows::normalize(capability, operands, out),
        (Operator::MseLoss | Operator::CrossEntropy, None) => Err(no_kernel(operator)),
    }
}

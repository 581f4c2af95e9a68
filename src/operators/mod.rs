//! Operators: functions that one would write a kernel for. One file each, with its formula from
//! elementary operations beside every form that computes it at once.
//!
//! An implementation never falls back: what it does not have on a device, in a dtype or at a size is
//! refused, by name and value.

mod add_layer_norm;
mod bias_gelu;
mod cross_entropy;
mod float;
mod gelu;
mod gelu_tanh;
mod layer_norm;
mod mse_loss;
mod rms_norm;
mod silu;
mod site;
mod softmax;
mod tolerance;
mod trial;

pub use site::Site;
pub use tolerance::Tolerance;
pub use trial::{Trial, trials};

use plan::{Dtype, Implementation, Operator};
use tch::{TchError, Tensor};

use crate::inputs::Inputs;
use crate::refusal::Refusal;
use crate::step::Step;

/// An operator's implementations.
pub trait Compute {
    /// The formula, an elementary operation of ATen's for each of it, in the dtype of the inputs: in
    /// float64, the reference.
    ///
    /// # Errors
    /// What libtorch refuses.
    fn composed(&self, inputs: &Inputs) -> Result<Tensor, TchError>;

    /// The operations that [`Self::composed`] runs.
    fn composition(&self) -> &'static [&'static str];

    /// An implementation on these inputs: all but `aten-composed` and `stream`, which are the same for
    /// every operator.
    ///
    /// # Errors
    /// What libtorch refuses.
    fn build(&self, site: &Site, inputs: Inputs) -> Result<Step, Refusal>;
}

/// The operator's implementations: where a new operator is entered.
fn compute(operator: Operator) -> Box<dyn Compute> {
    match operator {
        Operator::LayerNorm => Box::new(layer_norm::LayerNorm { affine: true }),
        Operator::LayerNormNoAffine => Box::new(layer_norm::LayerNorm { affine: false }),
        Operator::RmsNorm => Box::new(rms_norm::RmsNorm),
        Operator::Gelu => Box::new(gelu::Gelu),
        Operator::GeluTanh => Box::new(gelu_tanh::GeluTanh),
        Operator::Silu => Box::new(silu::Silu),
        Operator::Softmax => Box::new(softmax::Softmax),
        Operator::MseLoss => Box::new(mse_loss::MseLoss),
        Operator::CrossEntropy => Box::new(cross_entropy::CrossEntropy),
        Operator::BiasGelu => Box::new(bias_gelu::BiasGelu),
        Operator::AddLayerNorm => Box::new(add_layer_norm::AddLayerNorm),
    }
}

/// Whether the implementation can run at this site, before anything is built.
///
/// # Errors
/// Skipped, with the cap that the size exceeds; unsupported, with the constraint and the value that
/// broke it.
pub fn check(site: &Site) -> Result<(), Refusal> {
    let (work, elements) = (&site.work, site.work.size.elements());
    if !work.operator.implementations().contains(&work.implementation) {
        return Err(site.refuse("the operator has no such implementation"));
    }
    if !work.implementation.is_usual(site.device) {
        return Err(site.refuse(&format!("it is not made for {}", site.device)));
    }
    if elements > work.max_elements {
        return Err(Refusal::Skipped(format!(
            "{} are {elements} elements, and max_elements is {}; raise it to measure them",
            work.size, work.max_elements
        )));
    }
    Ok(())
}

/// The implementation, ready to run.
///
/// # Errors
/// What libtorch refuses.
pub fn build(site: &Site, inputs: Inputs) -> Result<Step, Refusal> {
    let operator = compute(site.work.operator);
    match site.work.implementation {
        Implementation::AtenComposed => {
            Ok(Step::new(operator.composition(), move || operator.composed(&inputs)))
        }
        Implementation::Aten
        | Implementation::AtenOut
        | Implementation::Rust
        | Implementation::Cuda
        | Implementation::Triton
        | Implementation::Stream => operator.build(site, inputs),
    }
}

/// The formula on these inputs ([`Compute::composed`]).
///
/// # Errors
/// What libtorch refuses.
pub fn composed(operator: Operator, inputs: &Inputs) -> Result<Tensor, TchError> {
    compute(operator).composed(inputs)
}

/// The smallest signal-to-noise ratio, in dB, that every implementation has to have against the
/// formula in float64 on normal inputs: some dB below the lowest that was measured.
pub fn min_sqnr_db(_operator: Operator, dtype: Dtype) -> f64 {
    match dtype {
        Dtype::Float32 => 100.0,
        Dtype::BFloat16 => 38.0,
        Dtype::Float16 => 55.0,
    }
}

/// The last dimension.
fn row(x: &Tensor) -> Result<i64, TchError> {
    x.size().last().copied().ok_or_else(|| TchError::Shape("x without dimensions".to_owned()))
}

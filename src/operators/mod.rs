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
mod normalization;
mod output;
mod pointwise;
mod rms_norm;
mod silu;
mod site;
mod softmax;
mod stream;
mod tolerance;
mod trial;

pub use float::Float;
pub use site::Site;
pub use tolerance::Tolerance;
pub use trial::{Trial, trials};

use plan::{Device, Dtype, Implementation, Operator, OperatorWork};
use tch::{TchError, Tensor};

use crate::inputs::Inputs;
use crate::refusal::Refusal;
use crate::step::Step;
use kernels::{cuda, triton};

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
        return Err(site.no_such_implementation());
    }
    if !work.implementation.is_usual(site.device) {
        return Err(site.refuse(&format!(
            "it is not made for {}; made for it are {}",
            site.device,
            site.implementations(|it| it.is_usual(site.device))
        )));
    }
    cross_entropy::check(site)?;
    if elements > work.max_elements {
        return Err(Refusal::Skipped(format!(
            "{} are {elements} elements, and max_elements is {}; raise it to measure them",
            work.size, work.max_elements
        )));
    }
    Ok(())
}

/// Whether the machine has what the implementation is compiled with: asked before inputs are drawn,
/// where the device is.
///
/// # Errors
/// Skipped, with what is missing.
pub fn tools(site: &Site) -> Result<(), Refusal> {
    match (site.work.implementation, site.device) {
        (Implementation::Cuda, _) | (Implementation::Stream, Device::Cuda) => cuda::available(),
        (Implementation::Triton, _) => triton::available(),
        _ => Ok(()),
    }
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
        Implementation::Stream => stream::build(site, inputs),
        Implementation::Aten
        | Implementation::AtenOut
        | Implementation::Rust
        | Implementation::Cuda
        | Implementation::Triton => operator.build(site, inputs),
    }
}

/// What `stream` leaves of these inputs: x, or every bit of x that the other example has not. Of a
/// loss, which reads alone, the exclusive or of all groups of eight bytes, on a CPU; on a device, where
/// blocks keep theirs, nothing that could be compared.
///
/// # Errors
/// What libtorch refuses.
pub fn passed(site: &Site, inputs: &Inputs) -> Result<Option<Tensor>, TchError> {
    stream::passed(site, inputs)
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
///
/// Lowest values of ATen's forms on a CPU, in dB, over sizes from 1×3×7 to 2×8×20000, 6 seeds of the
/// smaller ones, and of losses up to 65536×64 in float32 and bfloat16. What is rounded between its
/// operations decides in half precision: `aten-composed`, and of cross entropy ATen's own, which sums
/// the rows in the case's dtype; forms of one operation have 52 and 70.
///
/// | operator             | float32 | bfloat16 | float16 |
/// |----------------------|---------|----------|---------|
/// | layer_norm           | 139.3   | 45.0     | 63.7    |
/// | layer_norm_no_affine | 140.1   | 45.5     | 64.8    |
/// | rms_norm             | 142.4   | 45.2     | 63.7    |
/// | gelu                 | 141.1   | 51.3     | 69.1    |
/// | gelu_tanh            | 146.6   | 50.9     | 67.1    |
/// | silu                 | 143.7   | 49.5     | 68.8    |
/// | softmax              | 137.1   | 47.5     | 64.5    |
/// | bias_gelu            | 140.8   | 48.4     | 65.8    |
/// | add_layer_norm       | 140.5   | 44.3     | 61.2    |
/// | gate                 | 125     | 39       | 56      |
/// | mse_loss             | 138.2   | 47.6     | 63.7    |
/// | cross_entropy        | 137.9   | 37.4     | 58.6    |
/// | gate of losses       | 115     | 32, 42   | 52, 60  |
///
/// A loss is one number, whose ratio is that of chance, and a sum of millions. Where nothing but the
/// loss itself is rounded to half precision, its relative error is at most the unit roundoff, 48.2 and
/// 66.2 dB, and that of `rust`, which may round to either neighbour, twice that; the gate is 42 and
/// 60.
pub fn min_sqnr_db(work: &OperatorWork, dtype: Dtype) -> f64 {
    let rounds_once = tolerance::intermediate(work, dtype) == Dtype::Float32;
    match (work.operator.is_loss(), dtype) {
        (false, Dtype::Float64 | Dtype::Float32) => 125.0,
        (false, Dtype::BFloat16 | Dtype::Float8E4M3Fn) => 39.0,
        (false, Dtype::Float16) => 56.0,
        (true, Dtype::Float64 | Dtype::Float32) => 115.0,
        (true, Dtype::BFloat16 | Dtype::Float8E4M3Fn) if rounds_once => 42.0,
        (true, Dtype::BFloat16 | Dtype::Float8E4M3Fn) => 32.0,
        (true, Dtype::Float16) if rounds_once => 60.0,
        (true, Dtype::Float16) => 52.0,
    }
}

/// The last dimension.
fn row(x: &Tensor) -> Result<i64, TchError> {
    x.size().last().copied().ok_or_else(|| TchError::Shape("x without dimensions".to_owned()))
}

//! Workloads: a plan's [`Case`] made into something that can be timed and checked.
//!
//! The order is [`preflight`], [`prepare`], [`Workload::check`], then the clock.

mod forward;
mod preflight;

pub use preflight::preflight;

pub use crate::refusal::Refusal;

use plan::{Accuracy, Case, Weights};
use tch::{TchError, Tensor};

/// What is timed.
pub trait Workload {
    /// One step: a forward pass. The caller switches gradients off. Nothing is allocated but what
    /// the operations themselves allocate; a C++ exception is an `Err`. With a preallocated output
    /// every step returns that same tensor, and dropping it frees nothing.
    fn step(&self) -> Result<Tensor, TchError>;

    /// Runs one step and compares its output with the float64 reference. An output below its gate,
    /// or with NaN or infinity anywhere, is [`Refusal::Failed`].
    fn check(&self) -> Result<Accuracy, Refusal>;

    /// Bytes that the model stores as it is run: quantized weights, scales, zero points, norms.
    fn weights_bytes(&self) -> u64;

    /// Bytes of the input.
    fn inputs_bytes(&self) -> u64;

    /// Bytes of the output where it is allocated beforehand; 0 where each step makes its own.
    fn outputs_bytes(&self) -> u64 {
        0
    }

    /// The weights of its linear layers as they are stored; none where it has no such layers.
    fn weights(&self) -> Option<Weights> {
        None
    }

    /// ATen ops and own kernels that work on the weights of the linear layers.
    fn kernels(&self) -> Vec<String>;

    /// What a reader of its figures should know.
    fn notes(&self) -> Vec<String> {
        vec![]
    }
}

/// What makes a case measurable: [`prepare`], or a target's own.
pub type Prepare = fn(&Case) -> Result<Box<dyn Workload>, Refusal>;

/// Builds a case: seeds torch, makes parameters and input, computes the reference, quantizes.
/// The same seed, model, shape and dtype give the same parameters and input to every recipe and
/// on every device.
///
/// Refuses what [`preflight`] refuses, and whatever goes wrong on the way.
pub fn prepare(case: &Case) -> Result<Box<dyn Workload>, Refusal> {
    preflight(case)?;
    Ok(Box::new(forward::Forward::prepare(case)?))
}

#[cfg(test)]
mod matrix_tests;

#[cfg(test)]
mod testing {
    use plan::{CaseId, Device, Dtype, Mode, ModelKind, Profiling, Recipe, Role, Settings, Shape};

    use super::Case;

    /// A case on the CPU with default settings.
    pub fn case(model: ModelKind, recipe: Recipe, dtype: Dtype, shape: Shape) -> Case {
        Case {
            id: CaseId {
                group: format!("inference/test/{model}/cpu"),
                variant: recipe.to_string(),
                parameter: format!("{}-{shape}", dtype.short()),
            },
            config: "test".to_owned(),
            config_hash: String::new(),
            names: vec![],
            role: Role::Candidate,
            mode: Mode::Inference,
            model,
            recipe,
            sparsity: None,
            compile: None,
            packed: false,
            preallocated: false,
            dtype,
            device: Device::Cpu,
            shape,
            shape_names: vec![],
            profiling: Profiling::default(),
            settings: Settings::default(),
        }
    }
}

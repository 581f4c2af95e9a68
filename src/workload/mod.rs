//! Workloads: a plan's [`Case`] made into something that can be timed and checked.
//!
//! The order is [`preflight()`], [`prepare`], [`Workload::check`], then the clock.

mod ahead;
mod captured;
mod compiled;
mod forward;
#[doc(hidden)]
pub mod generated;
mod graphed;
mod kernel;
mod preflight;
mod stored;
mod traceable;
mod training;

pub use ahead::Ahead;
pub use preflight::preflight;

pub use crate::refusal::Refusal;

use compiled::Compiled;
use forward::Forward;
use graphed::Graphed;
use plan::{
    Accuracy, Case, Compilation, Device, Implementation, KernelFacts, ModelFacts, Weights, Work,
};
use tch::Tensor;
use traceable::Eager;
use training::Training;

use crate::native::storage;

/// A case's timed step with its preparation and checks.
pub trait Workload {
    /// One step: a forward pass, a part of a training step, a pattern, a probe. Of several tensors it gives the first. The caller switches gradients off. Nothing is
    /// allocated but what the operations themselves allocate; a C++ exception is an `Err`. With a
    /// preallocated output every step returns that same tensor, and dropping it frees nothing.
    fn step(&self) -> Result<Tensor, Refusal>;

    /// Runs one step and compares its output with the float64 reference. An output below its gate,
    /// or with NaN or infinity anywhere, is [`Refusal::Failed`].
    fn check(&self) -> Result<Accuracy, Refusal>;

    /// Puts everything that a step reads elsewhere in memory, as if the case had been built again.
    /// While the result lives, nothing else comes to lie in the old place. None where there is
    /// nothing to move.
    fn rebuild(&self) -> Result<Option<Displaced>, Refusal> {
        Ok(None)
    }

    /// Looks at its output once more, after everything that was timed.
    fn recheck(&self) -> Result<(), Refusal> {
        Ok(())
    }

    /// Why its memory cannot be told, where it cannot.
    fn uncounted(&self) -> Option<String> {
        None
    }

    /// Bytes of the parameters as they are stored: weights, scales, zero points, norms; and the state of an
    /// optimizer.
    fn weights_bytes(&self) -> u64;

    /// Bytes of the input; and of what else a part of a training step finds.
    fn inputs_bytes(&self) -> u64;

    /// Bytes of the output where it is allocated beforehand; 0 where each step makes its own.
    fn outputs_bytes(&self) -> u64 {
        0
    }

    /// Bytes of the activations that a training step's forward pass keeps for its backward pass, the input among
    /// them; none in inference.
    fn saved_bytes(&self) -> Option<u64> {
        None
    }

    /// The weights of its linear layers as they are stored; none where it has no such layers.
    fn weights(&self) -> Option<Weights> {
        None
    }

    /// ATen ops and own kernels that do the work; of a model, those on the weights of linear layers.
    fn kernels(&self) -> Vec<String>;

    /// Facts about a user's kernel; `None` for other work.
    fn kernel(&self) -> Option<KernelFacts> {
        None
    }

    /// Facts about a model of the package's own; `None` for other work.
    fn model(&self) -> Option<ModelFacts> {
        None
    }

    /// How it was compiled; none where it runs eagerly.
    fn compilation(&self) -> Option<Compilation> {
        None
    }

    /// Notes for readers of its figures.
    fn notes(&self) -> Vec<String> {
        vec![]
    }
}

/// The memory that a case was displaced from.
pub struct Displaced {
    /// How much of it.
    pub bytes: u64,
    _memory: Box<dyn std::any::Any>,
}

/// The names of a model's kernels, each once.
fn each_once(kernels: impl Iterator<Item = &'static str>) -> Vec<String> {
    let mut all = Vec::new();
    for kernel in kernels {
        if !all.iter().any(|known| known == kernel) {
            all.push(kernel.to_owned());
        }
    }
    all
}

/// Moves the tensors of a workload to new memory.
fn moved(tensors: &[Tensor]) -> Result<Option<Displaced>, Refusal> {
    let blocks = storage::relocate(tensors)?;
    let bytes = blocks.bytes();
    Ok((bytes > 0).then(|| Displaced { bytes, _memory: Box::new(blocks) }))
}

/// Makes a case measurable: [`prepare`], or a target's own.
pub type Prepare = fn(&Case) -> Result<Box<dyn Workload>, Refusal>;

/// Builds a case: seeds torch, makes parameters and input, computes the reference; of a model,
/// quantizes.
/// The same seed, model, shape and dtype give the same parameters and input to every recipe and
/// on every device.
///
/// Refuses what [`preflight()`] refuses, and whatever goes wrong on the way.
pub fn prepare(case: &Case) -> Result<Box<dyn Workload>, Refusal> {
    preflight(case)?;
    Ok(match (&case.work, case.work.compile()) {
        (Work::Probe(work), _) if work.probe.is_stream() && case.device == Device::Cpu => {
            Box::new(kernel::of_stream(case, work)?)
        }
        (Work::Operator(work), _) if work.implementation == Implementation::Stream => {
            Box::new(kernel::of_traffic(case, work)?)
        }
        (Work::Model(work), None) if work.variant.graph => {
            Box::new(Graphed::prepare(case, work, eager(case)?)?)
        }
        (_, Some(mode)) => Box::new(Compiled::prepare(case, mode, eager(case)?)?),
        (_, None) => eager(case)?,
    })
}

/// The case with its operations run one by one.
fn eager(case: &Case) -> Result<Box<dyn Eager>, Refusal> {
    Ok(match &case.work {
        Work::Model(work) if work.pass.is_some() => Box::new(Training::prepare(case, work)?),
        Work::Model(work) => Box::new(Forward::prepare(case, work)?),
        Work::Fusion(work) => Box::new(kernel::prepare(case, *work)?),
        Work::Operator(work) => Box::new(kernel::prepare(case, *work)?),
        Work::Probe(work) => Box::new(kernel::prepare(case, *work)?),
        Work::Kernel(work) => {
            let what =
                format!("kernel `{}` is known only to the bench target that found it", work.kernel);
            return Err(Refusal::Failed(what));
        }
    })
}

#[cfg(test)]
mod matrix_tests;
#[cfg(test)]
mod own_tests;

#[cfg(test)]
mod testing {
    use plan::{
        CaseId, Device, Dtype, Mode, ModelKind, ModelWork, Profiling, Recipe, Role, Settings,
        Shape, Variant, Work,
    };

    use super::{Case, Workload};

    /// Demands that the case computes the same to the bit once it has been built anew, elsewhere.
    pub fn computes_the_same_elsewhere(what: &str, workload: &dyn Workload) {
        let step = || tch::no_grad(|| workload.step()).unwrap_or_else(|e| panic!("{what}: {e}"));
        let before = step().copy();
        let displaced = workload.rebuild().unwrap_or_else(|refusal| panic!("{what}: {refusal}"));
        assert!(displaced.expect("it has tensors").bytes > 0, "{what}");
        let after = step();
        assert!(before.equal(&after), "{what}: built anew, it computes something else");
    }

    /// The work of a model's case.
    pub fn work(case: &Case) -> &ModelWork {
        case.work.model().expect("a case of a model")
    }

    /// Like [`work`], mutable.
    pub fn work_mut(case: &mut Case) -> &mut ModelWork {
        match &mut case.work {
            Work::Model(work) => work,
            other => panic!("no case of a model: {other:?}"),
        }
    }

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
            work: Work::Model(ModelWork {
                model,
                variant: Variant::eager(recipe),
                shape,
                pass: None,
            }),
            dtype,
            device: Device::Cpu,
            shape_names: vec![],
            profiling: Profiling::default(),
            settings: Settings::default(),
        }
    }
}

//! Kernels as a case of any kind runs them, and those that are functions of tensors with several
//! implementations: the operators, patterns and probes that ship with the library.
//!
//! An implementation never falls back: what it does not have on a device, in a dtype or at a size is
//! refused, by name and value.

use plan::Dtype;
use tch::{TchError, Tensor};

use super::context::{KernelContext, Named};
use super::{Step, Tolerance};
use crate::inputs::Inputs;
use crate::refusal::Refusal;

/// An implementation of a kernel at one size, in the circumstances of a case, whoever wrote it.
pub trait Computation {
    /// The kernel's inputs, drawn from the case's seed.
    fn inputs(&self) -> Result<Inputs, Refusal>;

    /// The expected output on these inputs, which are float64, on the context's device or on the host;
    /// none where it is unknown.
    fn reference(&self, inputs: Inputs) -> Result<Option<Tensor>, Refusal>;

    /// The implementation, ready to run on these inputs.
    fn build(&self, inputs: Inputs) -> Result<Step, Refusal>;
}

/// A function of tensors.
pub trait Operation<W> {
    /// Its inputs, drawn from torch's default generator, the same on every device and for every
    /// implementation.
    fn inputs(&self, context: &KernelContext<W>) -> Result<Inputs, Refusal>;

    /// Whether the implementation can run here, before anything is built.
    ///
    /// # Errors
    /// The constraint and the value that broke it.
    fn check(&self, context: &KernelContext<W>) -> Result<(), String>;

    /// The function from elementary operations, in the dtype of its inputs: in float64, what every
    /// implementation is compared with.
    fn reference(&self, context: &KernelContext<W>, inputs: Inputs) -> Result<Tensor, Refusal>;

    /// The context's implementation on these inputs: weights folded and reordered beforehand where it has
    /// such.
    fn build(&self, context: &KernelContext<W>, inputs: Inputs) -> Result<Step, Refusal>;

    /// The smallest signal-to-noise ratio, in dB, that the context's implementation has to have against
    /// the reference: some dB below the lowest that was measured.
    fn min_sqnr_db(&self, work: &W, dtype: Dtype) -> f64;

    /// How outputs are judged value by value; none where the ratio of norms alone decides.
    fn by_value(&self) -> Option<&dyn ByValue<W>> {
        None
    }
}

/// The judgement of an output value by value.
pub trait ByValue<W> {
    /// How far each value may be from `reference`, which is that of the inputs, all in float64 in one
    /// place.
    fn tolerance(
        &self,
        context: &KernelContext<W>,
        inputs: &Inputs,
        reference: &Tensor,
    ) -> Result<Tolerance, TchError>;

    /// Small inputs of every kind, on which the implementation is tried before it is timed.
    fn trials(&self, context: &KernelContext<W>) -> Vec<Trial<W>>;

    /// Whether the context's implementation is an operation of libtorch's own. Where float64 disproves it for special values,
    /// that is a finding about libtorch, and no reason to leave its time out.
    fn is_of_libtorch(&self, context: &KernelContext<W>) -> bool;
}

/// Small inputs of one kind.
pub struct Trial<W> {
    /// As the record names it.
    pub name: String,
    /// Whether its inputs have values that a model seldom meets, such as infinity.
    pub is_special: bool,
    /// The case's kernel, implementation, dtype and device, at a small size.
    pub context: KernelContext<W>,
    /// Draws the inputs from torch's default generator.
    pub draw: Box<dyn Fn() -> Result<Inputs, Refusal>>,
}

impl<W> Trial<W> {
    /// The inputs, drawn from the case's seed.
    pub fn inputs(&self) -> Result<Inputs, Refusal> {
        let _drawing = self.context.seeded();
        (self.draw)()
    }
}

/// Work of the plan whose kernels ship with the library: how they are found, and what all of its kind
/// have in common.
pub trait Shipped: Named + Copy + 'static {
    /// Its description: where a new kernel is registered.
    fn operation(&self) -> Box<dyn Operation<Self>>;

    /// Whether the implementation can run in this context, before anything is built: it exists, and
    /// [`Operation::check`] agrees.
    ///
    /// # Errors
    /// Unsupported, with the constraint and the value that broke it; skipped, where the case is too
    /// large.
    fn check(context: &KernelContext<Self>) -> Result<(), Refusal> {
        context.constraint()
    }

    /// Whether the machine has what the implementation is compiled with: asked before inputs are
    /// drawn, where the device is.
    ///
    /// # Errors
    /// Skipped, with what is missing.
    fn tools(_context: &KernelContext<Self>) -> Result<(), Refusal> {
        Ok(())
    }

    /// Its parts, whatever the implementation.
    fn parts(context: &KernelContext<Self>) -> Parts;

    /// An input or an output, a part to each place of the first dimension: no part influences another.
    fn by_part(&self, tensor: &Tensor) -> Result<Tensor, TchError> {
        Ok(tensor.shallow_clone())
    }
}

/// Parts of a computation that can be compared one by one: rows, images, heads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// How many there are.
    pub all: u64,
    /// Floating-point operations of one.
    pub flops: u64,
    /// Elements of its largest result.
    pub elements: u64,
    /// Whether the output is one number, the mean over all of them.
    pub are_averaged: bool,
}

#[doc(hidden)]
impl<W: Shipped> KernelContext<W> {
    /// Whether the implementation can run here ([`Shipped::check`]).
    pub fn check(&self) -> Result<(), Refusal> {
        W::check(self)
    }

    /// [`Operation::check`] as a refusal.
    pub(crate) fn constraint(&self) -> Result<(), Refusal> {
        self.work.operation().check(self).map_err(|constraint| self.unsupported(&constraint))
    }

    /// The smallest signal-to-noise ratio ([`Operation::min_sqnr_db`]).
    pub fn min_sqnr_db(&self) -> f64 {
        self.work.operation().min_sqnr_db(&self.work, self.dtype)
    }

    /// The refusal of an implementation that a description lacks.
    pub(crate) fn no_such_implementation(&self) -> Refusal {
        self.unsupported("it has no such implementation")
    }
}

#[doc(hidden)]
impl<W: Shipped> Computation for KernelContext<W> {
    fn inputs(&self) -> Result<Inputs, Refusal> {
        let _drawing = self.seeded();
        self.work.operation().inputs(self)
    }

    fn reference(&self, inputs: Inputs) -> Result<Option<Tensor>, Refusal> {
        let is_on_host = inputs.examples.iter().all(|it| it.device() == tch::Device::Cpu);
        let host = Self { device: plan::Device::Cpu, torch_device: tch::Device::Cpu, ..*self };
        let context = if is_on_host { &host } else { self };
        tch::no_grad(|| self.work.operation().reference(context, inputs)).map(Some)
    }

    fn build(&self, inputs: Inputs) -> Result<Step, Refusal> {
        self.work.operation().build(self, inputs)
    }
}

/// A gate for each dtype, in dB.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gates {
    pub(crate) float32: f64,
    pub(crate) bfloat16: f64,
    pub(crate) float16: f64,
}

impl Gates {
    pub(crate) const fn for_dtype(self, dtype: Dtype) -> f64 {
        match dtype {
            Dtype::Float64 | Dtype::Float32 => self.float32,
            Dtype::BFloat16 | Dtype::Float8E4M3Fn => self.bfloat16,
            Dtype::Float16 => self.float16,
        }
    }
}

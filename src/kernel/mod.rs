//! Kernels of one's own: what a file under `benches/kernels` implements to be found, measured, checked
//! and reported, without being registered anywhere.
//!
//! ```no_run
//! use criterion_torch::kernel::prelude::*;
//!
//! /// Its fields are the keys of `problem_size` in the `bench.yaml` beside the file.
//! pub struct ProblemSize {
//!     pub elements: usize,
//! }
//!
//! /// What is not given there.
//! impl Default for ProblemSize {
//!     fn default() -> Self {
//!         Self { elements: 65536 }
//!     }
//! }
//!
//! impl Task for ProblemSize {
//!     fn inputs(&self, context: &KernelContext) -> Result<Inputs, Refusal> {
//!         let draw = || context.normal(&[self.elements]);
//!         Ok(Inputs { examples: vec![draw()?, draw()?], parameters: vec![] })
//!     }
//! }
//!
//! pub struct Saxpy<T> {
//!     z: Vec<T>,
//! }
//!
//! impl<T: Element> Kernel for Saxpy<T> {
//!     type ProblemSize = ProblemSize;
//!
//!     fn prepare(size: &ProblemSize, _: &[Tensor], context: &KernelContext) -> Result<Self, Refusal> {
//!         if context.device != Device::Cpu {
//!             return Err(context.unsupported("a loop over slices runs on the CPU"));
//!         }
//!         Ok(Self { z: vec![T::from_f64(0.0); size.elements] })
//!     }
//!
//!     fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
//!         let (x, y) = (slice::<T>(&examples[0])?, slice::<T>(&examples[1])?);
//!         for ((z, x), y) in self.z.iter_mut().zip(x).zip(y) {
//!             *z = T::narrow(T::wide(*x) * T::Wide::from_f64(2.5) + T::wide(*y));
//!         }
//!         Ok(())
//!     }
//!
//!     fn output(&self) -> Result<Tensor, Refusal> {
//!         tensor(&self.z, &[self.z.len()])
//!     }
//! }
//! ```

mod context;
mod conversion;
pub mod cuda;
mod element;
mod float;
#[doc(hidden)]
pub mod generated;
mod operation;
mod step;
mod tolerance;

pub use context::KernelContext;
pub use conversion::{IntoTensor, slice, tensor};
pub use element::Element;
pub use half::{bf16, f16};
#[doc(inline)]
pub use plan::{Device, Dtype};
pub use tch::{self, TchError, Tensor};

// The kernels that ship with the library.
#[doc(hidden)]
pub use {
    context::Named,
    float::Float,
    operation::{ByValue, Computation, Operation, Parts, Shipped, Trial},
    step::{Replaced, Step, all_over_nan, over_nan},
    tolerance::{Tolerance, Worst, unravel},
};

pub(crate) use operation::Gates;

#[doc(inline)]
pub use crate::{inputs::Inputs, refusal::Refusal};

/// The imports of a kernel's file.
///
/// ```
/// use criterion_torch::kernel::prelude::*;
/// ```
pub mod prelude {
    pub use super::{
        Device, Dtype, Element, Inputs, IntoTensor, Kernel, KernelContext, Refusal, Task, TchError,
        Tensor, bf16, f16, slice, tch, tensor,
    };
}

/// The problem that all kernels of a folder solve: `kernel.rs` implements it for its `ProblemSize`. One without inputs
/// and without a reference needs no implementation.
///
/// ```
/// use criterion_torch::kernel::prelude::*;
///
/// pub struct ProblemSize {
///     pub rows: usize,
///     pub columns: usize,
/// }
///
/// /// A product of a matrix, which is known beforehand, with a vector.
/// impl Task for ProblemSize {
///     fn inputs(&self, context: &KernelContext) -> Result<Inputs, Refusal> {
///         let matrix = context.normal(&[self.rows, self.columns])?;
///         Ok(Inputs { examples: vec![context.normal(&[self.columns])?], parameters: vec![matrix] })
///     }
///
///     fn reference(&self, inputs: &Inputs, _: &KernelContext) -> Result<Option<Tensor>, Refusal> {
///         Ok(Some(inputs.parameters[0].f_mv(&inputs.examples[0])?))
///     }
/// }
/// ```
pub trait Task {
    /// The tensors that a step computes with. Drawn values ([`KernelContext::normal`]) depend on the case's seed
    /// alone, and every kernel of the folder is given the same.
    fn inputs(&self, context: &KernelContext) -> Result<Inputs, Refusal> {
        let _ = context;
        Ok(Inputs::default())
    }

    /// The expected output, in float64, of the output's size, computed in another way than by the kernels.
    /// `inputs` are those that were drawn, in float64 on the host. Without a reference kernels are measured all the
    /// same, and said to be unverified.
    fn reference(
        &self,
        inputs: &Inputs,
        context: &KernelContext,
    ) -> Result<Option<Tensor>, Refusal> {
        let _ = (inputs, context);
        Ok(None)
    }
}

/// One kernel. A type that is generic over one [`Element`] has an instance for each precision;
/// another type looks at [`KernelContext::dtype`] itself, and refuses a precision that it lacks as
/// [`Refusal::Unsupported`]. [`KernelContext::device`] is looked at and refused likewise.
///
/// ```
/// use criterion_torch::kernel::prelude::*;
///
/// pub struct ProblemSize {
///     pub elements: usize,
/// }
///
/// /// Doubles the only example of its [`Task`] by one call of libtorch.
/// pub struct Doubled {
///     y: Tensor,
/// }
///
/// impl Kernel for Doubled {
///     type ProblemSize = ProblemSize;
///
///     fn prepare(size: &ProblemSize, _: &[Tensor], context: &KernelContext) -> Result<Self, Refusal> {
///         let options = (context.kind(), context.torch_device);
///         Ok(Self { y: Tensor::f_zeros([size.elements as i64], options)? })
///     }
///
///     fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
///         examples[0].f_add_out(&self.y, &examples[0])?;
///         Ok(())
///     }
///
///     fn output(&self) -> Result<Tensor, Refusal> {
///         Ok(self.y.shallow_clone())
///     }
/// }
/// ```
pub trait Kernel: Sized + 'static {
    /// The struct in `kernel.rs` whose fields are the keys of `problem_size`; the other files of the
    /// folder import it.
    type ProblemSize: 'static;

    /// Everything that does not depend on the examples: memory for the output, tables, weights
    /// reordered. `parameters` are those of [`Task::inputs`]. Not timed.
    fn prepare(
        size: &Self::ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal>;

    /// One step on the examples of [`Task::inputs`], which is what is timed. It leaves them as they are,
    /// runs many times, and does the same work every time.
    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal>;

    /// The result of the last step, in the case's dtype, where the case runs. Not timed.
    fn output(&self) -> Result<Tensor, Refusal>;

    /// Floating-point operations of a step.
    fn flops(size: &Self::ProblemSize) -> Option<u64> {
        let _ = size;
        None
    }

    /// Bytes that a step has to read and write, each operand once.
    fn bytes(size: &Self::ProblemSize, dtype: Dtype) -> Option<u64> {
        let _ = (size, dtype);
        None
    }
}

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
//! pub struct Saxpy<T> {
//!     x: Vec<T>,
//!     y: Vec<T>,
//!     z: Vec<T>,
//! }
//!
//! impl<T: Element> Kernel for Saxpy<T> {
//!     type ProblemSize = ProblemSize;
//!
//!     fn prepare(size: &ProblemSize, context: &KernelContext) -> Result<Self, Refusal> {
//!         if context.device != Device::Cpu {
//!             return Err(context.unsupported("a loop over slices runs on the CPU"));
//!         }
//!         let draw = || values(&context.normal(&[size.elements])?);
//!         Ok(Self { x: draw()?, y: draw()?, z: vec![T::from_f64(0.0); size.elements] })
//!     }
//!
//!     fn run(&mut self) -> Result<(), Refusal> {
//!         for ((z, x), y) in self.z.iter_mut().zip(&self.x).zip(&self.y) {
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
pub use conversion::{IntoTensor, tensor, values};
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
    operation::{ByValue, Operation, Parts, Shipped, Trial},
    step::{Replaced, Step, all_over_nan, over_nan},
    tolerance::{Tolerance, Worst, unravel},
};

pub(crate) use operation::Gates;

#[doc(inline)]
pub use crate::refusal::Refusal;

/// The imports of a kernel's file.
///
/// ```
/// use criterion_torch::kernel::prelude::*;
/// ```
pub mod prelude {
    pub use super::{
        Device, Dtype, Element, IntoTensor, Kernel, KernelContext, Refusal, TchError, Tensor, bf16,
        f16, tch, tensor, values,
    };
}

/// One kernel. A type that is generic over one [`Element`] has an instance for each precision;
/// another type looks at [`KernelContext::dtype`] itself, and refuses a precision that it lacks as
/// [`Refusal::Unsupported`]. The same goes for [`KernelContext::device`].
///
/// ```
/// use criterion_torch::kernel::prelude::*;
///
/// pub struct ProblemSize {
///     pub elements: usize,
/// }
///
/// /// The same work as one call of libtorch.
/// pub struct Doubled {
///     x: Tensor,
///     y: Tensor,
/// }
///
/// impl Kernel for Doubled {
///     type ProblemSize = ProblemSize;
///
///     fn prepare(size: &ProblemSize, context: &KernelContext) -> Result<Self, Refusal> {
///         let x = context.normal(&[size.elements])?;
///         Ok(Self { y: x.f_zeros_like()?, x })
///     }
///
///     fn run(&mut self) -> Result<(), Refusal> {
///         self.x.f_add_out(&self.y, &self.x)?;
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

    /// Everything that a step reads, made before the clock starts. Drawn values ([`KernelContext::normal`])
    /// depend on the case's seed alone, so that siblings see the same input if they draw in the
    /// same order.
    fn prepare(size: &Self::ProblemSize, context: &KernelContext) -> Result<Self, Refusal>;

    /// One step, which is what is timed. It runs many times and finds the same every time: where it works
    /// in place, it first puts back what it starts from.
    fn run(&mut self) -> Result<(), Refusal>;

    /// The result of the last step, in the case's dtype, where the case runs. Not timed.
    fn output(&self) -> Result<Tensor, Refusal>;

    /// The expected output, in float64, of the output's size, computed in another way. Not timed.
    /// Without one the kernel is measured all the same, and said to be unverified.
    fn reference(&self) -> Result<Option<Tensor>, Refusal> {
        Ok(None)
    }

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

//! CUDA kernels of users: source text, compiled by NVRTC for the device at hand when a
//! kernel is prepared, and kept on disk. Building needs no CUDA.
//!
//! ```no_run
//! use criterion_torch::kernel::cuda::{Argument, Function, Grid, Source};
//! use criterion_torch::kernel::prelude::*;
//!
//! const SOURCE: Source = Source {
//!     name: "scale.cu",
//!     text: r#"
//!         extern "C" __global__ void scale(float* x, float by, long long n) {
//!           const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
//!           if (i < n) {
//!             x[i] *= by;
//!           }
//!         }"#,
//! };
//!
//! fn scale(x: &mut Tensor, context: &KernelContext) -> Result<(), Refusal> {
//!     let kernel: Function = SOURCE.function("scale", context)?;
//!     let count = x.numel();
//!     let grid = Grid::covering(count, 256)?;
//!     // SAFETY: the parameters of `scale`, which touches `count` values of x.
//!     unsafe {
//!         kernel.launch(grid, &[Argument::Out(x), Argument::Float(2.0), Argument::Long(count as i64)])
//!     }
//! }
//! ```
//!
//! A source sees no headers of CUDA, but what the library's own kernels share: `BFloat16`, `Half`,
//! `to_float` and `from_float`, `Wide<T>`, `wide` and `narrow` (as [`Element`](super::Element) has
//! them), `load`, `store`, `kVector` (accesses of 16 bytes), `warp_sum` and `block_sum`. It needs a GPU
//! of compute capability 8.0 or newer.
//!
//! In tests the sources under `benches/kernels` are compiled by NVRTC for compute capabilities 8.0, 9.0 and
//! 10.0 and executed thread by thread on the CPU. On an H100 they gave what their references give.

use tch::{Device, Tensor};

use super::KernelContext;
use crate::refusal::Refusal;
use kernels::cuda as machinery;

/// CUDA C++. A file of its own is embedded by `include_str!("sum.cu")`.
///
/// ```
/// use criterion_torch::kernel::cuda::Source;
///
/// const EMPTY: Source =
///     Source { name: "empty.cu", text: r#"extern "C" __global__ void empty() {}"# };
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Source {
    /// Its name in the compiler's messages.
    pub name: &'static str,
    /// Entry functions are `extern "C" __global__`.
    pub text: &'static str,
}

impl Source {
    /// The cubin for a compute capability such as (9, 0). For tests, as it needs NVRTC, but no GPU.
    ///
    /// # Errors
    /// Skipped where NVRTC is missing or older than the capability; failed, with the compiler's log,
    /// where it rejects the source.
    pub fn compile(&self, (major, minor): (i32, i32)) -> Result<Vec<u8>, Refusal> {
        let text = self.whole();
        let source = machinery::Source { name: self.name, text: &text };
        machinery::compile(&source, machinery::Capability { major, minor })
    }

    /// An entry function, ready to be launched where the case runs.
    ///
    /// # Errors
    /// Unsupported on another backend and on a GPU older than 8.0; skipped where NVRTC or the driver
    /// is missing; failed where the compiler rejects the source or there is no such function.
    pub fn function(&self, entry: &str, context: &KernelContext) -> Result<Function, Refusal> {
        let Device::Cuda(device) = context.torch_device else {
            return Err(context.unsupported("CUDA runs on backend cuda, on a machine with a GPU"));
        };
        let text = self.whole();
        let source = machinery::Source { name: self.name, text: &text };
        // Two users may give their files the same name.
        let module = format!("{}-{:016x}", self.name, plan::fnv1a(&text));
        let module = machinery::Module::load_cubin(&module, device, || {
            machinery::cubin(&source, machinery::Capability::for_device(device, self.name)?)
        })?;
        Ok(Function { entry: module.function(entry)?, device: context.torch_device })
    }

    /// The text that the library compiles.
    pub(super) fn whole(&self) -> String {
        format!("{}#line 1 \"{}\"\n{}", machinery::PRELUDE, self.name, self.text)
    }
}

/// Blocks, and threads of each, in one dimension.
///
/// ```
/// use criterion_torch::kernel::cuda::Grid;
///
/// assert_eq!(Grid::covering(1000, 256)?, Grid::new(4, 256)?);
/// # Ok::<(), criterion_torch::kernel::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    blocks: u32,
    threads: u32,
}

impl Grid {
    /// A grid of `blocks` blocks of `threads` threads.
    ///
    /// # Errors
    /// Unsupported: no block or no thread; more than 1024 threads, or than 2³¹ − 1 blocks.
    pub fn new(blocks: usize, threads: usize) -> Result<Self, Refusal> {
        match (i32::try_from(blocks), u32::try_from(threads)) {
            (Ok(1..), Ok(threads @ 1..=1024)) => Ok(Self { blocks: blocks as u32, threads }),
            _ => Err(Refusal::Unsupported(format!(
                "{blocks} blocks of {threads} threads, but CUDA launches 1 to 2³¹ − 1 of 1 to 1024"
            ))),
        }
    }

    /// A thread for each of `items`, in blocks of `threads`.
    ///
    /// # Errors
    /// As for [`Grid::new`].
    pub fn covering(items: usize, threads: usize) -> Result<Self, Refusal> {
        Self::new(items.div_ceil(threads.max(1)), threads)
    }
}

/// A parameter of an entry function.
///
/// ```
/// use criterion_torch::kernel::Tensor;
/// use criterion_torch::kernel::cuda::Argument;
///
/// /// Those of `scale(float* x, float by)`.
/// fn arguments(x: &mut Tensor) -> [Argument<'_>; 2] {
///     [Argument::Out(x), Argument::Float(2.0)]
/// }
/// ```
#[derive(Debug)]
pub enum Argument<'t> {
    /// `const T*`: what is read.
    In(&'t Tensor),
    /// `T*`: what is written.
    Out(&'t mut Tensor),
    /// `int`
    Int(i32),
    /// `long long`
    Long(i64),
    /// `float`
    Float(f32),
    /// `double`
    Double(f64),
}

/// An entry function on its device. It is looked up while a kernel is prepared, and launched at each step.
///
/// ```
/// use criterion_torch::kernel::cuda::{Argument, Function, Grid};
/// use criterion_torch::kernel::prelude::*;
///
/// /// `scale` has the parameters `float* x, float by, long long n` and touches `n` values.
/// fn run(scale: Function, x: &mut Tensor) -> Result<(), Refusal> {
///     let count = x.numel();
///     let arguments = [Argument::Out(x), Argument::Float(2.0), Argument::Long(count as i64)];
///     // SAFETY: these are the parameters of `scale`, which stays inside x.
///     unsafe { scale.launch(Grid::covering(count, 256)?, &arguments) }
/// }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Function {
    entry: machinery::Function,
    device: Device,
}

impl Function {
    /// Queues a launch on torch's current stream, and returns.
    ///
    /// # Errors
    /// Failed where a tensor is on another device or not contiguous, or the driver says so: also of
    /// what was queued earlier.
    ///
    /// # Safety
    /// `arguments` are the function's parameters, in number, type and order; it reads within those
    /// tensors alone, and writes within [`Argument::Out`] alone.
    pub unsafe fn launch(&self, grid: Grid, arguments: &[Argument]) -> Result<(), Refusal> {
        let arguments: Vec<_> =
            arguments.iter().map(|it| self.argument(it)).collect::<Result<_, _>>()?;
        let grid = machinery::Grid { blocks: (grid.blocks, 1), threads: grid.threads };
        // SAFETY: the caller's promise.
        Ok(unsafe { self.entry.launch(grid, &arguments) }?)
    }

    fn argument(&self, argument: &Argument) -> Result<machinery::Argument, Refusal> {
        let tensor = match argument {
            Argument::In(tensor) => *tensor,
            Argument::Out(tensor) => &**tensor,
            Argument::Int(value) => return Ok(machinery::Argument::Int(*value)),
            Argument::Long(value) => return Ok(machinery::Argument::Long(*value)),
            Argument::Float(value) => return Ok(machinery::Argument::Float(*value)),
            Argument::Double(value) => return Ok(machinery::Argument::Double(*value)),
        };
        let (found, wanted) = (tensor.device(), self.device);
        if found != wanted || !tensor.is_contiguous() {
            let (size, strides) = (tensor.size(), tensor.stride());
            return Err(Refusal::Failed(format!(
                "a tensor {size:?} with strides {strides:?} on {found:?}, but a kernel takes a \
                 contiguous one on {wanted:?}"
            )));
        }
        Ok(machinery::Argument::pointer(tensor))
    }
}

#[cfg(test)]
#[path = "cuda_tests.rs"]
mod tests;

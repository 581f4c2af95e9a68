//! The pass-through limit on a device (`pass_through.cu`): passes over memory that compute nothing, as
//! fast as an operator can be that reads and writes as much.

use tch::{Device, Kind, TchError, Tensor};

use super::operator::{Kernels, Launch, blocks, check_like, grid, is_aligned, names};
use super::{Argument, Source, source};
use crate::overlap::refuse_overlap;
use native::refusal::Refusal;

/// The kernels' source.
pub(super) const SOURCE: Source = source!("pass_through.cu");

/// `kThreads` of the source.
const THREADS: i64 = 256;
/// Accesses of a block at once: `kThreads` · `kUnroll`.
const TILE: i64 = THREADS * 4;
/// Bytes of a word, and of the widest access.
const WORD: i64 = 2;
const ACCESS: i64 = 16;
/// Blocks of a pass that reads alone, each of which leaves an access's XOR.
const MOST_BLOCKS: i64 = 2048;

/// Entry functions, in the order of [`Launch::kernel`].
pub(super) fn entries() -> [String; 6] {
    [
        "pass_copy",
        "pass_copy_scalar",
        "pass_merge",
        "pass_merge_scalar",
        "pass_read",
        "pass_read_scalar",
    ]
    .map(str::to_owned)
}

/// What a record calls the kernels: with accesses of 16 bytes, and with 2.
const KERNELS: [[&[&str]; 2]; 3] =
    [names!("copy", "" "_scalar"), names!("merge", "" "_scalar"), names!("read", "" "_scalar")];

/// What is passed over, all of it contiguous, on one device, of any dtype of even size.
#[derive(Debug)]
pub enum Pass<'t> {
    /// Reads x and writes out, of the same bytes: x.
    Copy {
        /// Any shape.
        x: &'t Tensor,
        /// Like x.
        out: &'t Tensor,
    },
    /// Reads x and other and writes out, of the same bytes: their bits' XOR.
    Merge {
        /// Any shape.
        x: &'t Tensor,
        /// Like x.
        other: &'t Tensor,
        /// Like x.
        out: &'t Tensor,
    },
    /// Reads x and other, of any sizes, and writes at most 32 KiB of their XOR.
    Read {
        /// Any shape.
        x: &'t Tensor,
        /// Any shape.
        other: Option<&'t Tensor>,
    },
}

/// The kernels on a device.
#[derive(Debug)]
pub struct PassThrough {
    kernels: Kernels,
    /// uint8 `[16 · MOST_BLOCKS]`.
    partial: Tensor,
}

impl PassThrough {
    /// Compiles and loads the kernels, and allocates 32 KiB.
    ///
    /// # Errors
    /// Unsupported for an older GPU; skipped where NVRTC, the driver or the device is missing; out of
    /// memory.
    pub fn load(device: usize) -> Result<Self, Refusal> {
        let kernels = Kernels::load(&SOURCE, &entries(), device)?;
        Ok(Self { kernels, partial: partial(Device::Cuda(device))? })
    }

    /// `out = x`, queued on libtorch's current stream.
    ///
    /// # Errors
    /// When a tensor is not as [`Pass::Copy`] says or they share memory, and what the driver says.
    pub fn copy(&self, x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        self.run(&Pass::Copy { x, out })
    }

    /// `out = x ^ other`, bit by bit, queued on libtorch's current stream.
    ///
    /// # Errors
    /// When a tensor is not as [`Pass::Merge`] says or out shares memory with an operand, and what
    /// the driver says.
    pub fn merge(&self, x: &Tensor, other: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        self.run(&Pass::Merge { x, other, out })
    }

    /// Reads x and `other`, queued on libtorch's current stream.
    ///
    /// # Errors
    /// When a tensor is not as [`Pass::Read`] says, and what the driver says.
    pub fn read(&self, x: &Tensor, other: Option<&Tensor>) -> Result<(), TchError> {
        self.run(&Pass::Read { x, other })
    }

    /// What the pass queues: `…_scalar` where a tensor does not begin at a multiple of 16 bytes; none
    /// for no element.
    ///
    /// # Errors
    /// When a tensor is not as said.
    pub fn kernels(&self, pass: &Pass) -> Result<&'static [&'static str], TchError> {
        Ok(launches(pass, &self.partial)?.map_or(&[], |it| KERNELS[it.kernel / 2][it.kernel % 2]))
    }

    fn run(&self, pass: &Pass) -> Result<(), TchError> {
        let launches = launches(pass, &self.partial)?;
        // SAFETY: the parameters of the kernels, for tensors of the device that they were loaded for
        // and of the sizes that are passed; a block writes one access of `partial`. What is written
        // was borrowed to be written by `copy` and `merge`.
        unsafe { self.kernels.launch(launches.as_slice()) }
    }
}

pub(super) fn partial(device: Device) -> Result<Tensor, TchError> {
    Tensor::f_empty([MOST_BLOCKS * ACCESS], (Kind::Uint8, device))
}

/// The 16-bit words of a tensor on the device.
fn words(what: &str, tensor: &Tensor, device: Device) -> Result<i64, TchError> {
    if tensor.device() != device {
        let found = tensor.device();
        return Err(TchError::Shape(format!("{what} is on {found:?}, the kernels on {device:?}")));
    }
    let each = tensor.f_kind()?.elt_size_in_bytes() as i64;
    if !tensor.is_contiguous() || each % WORD != 0 {
        return Err(TchError::Shape(format!(
            "{what} is {tensor:?} with strides {:?}, but a pass takes contiguous words of 16 bits",
            tensor.stride()
        )));
    }
    Ok(tensor.numel() as i64 * each / WORD)
}

pub(super) fn launches(pass: &Pass, partial: &Tensor) -> Result<Option<Launch>, TchError> {
    let device = partial.device();
    let (kernel, x, other, out) = match *pass {
        Pass::Copy { x, out } => (0, x, None, Some(out)),
        Pass::Merge { x, other, out } => (2, x, Some(other), Some(out)),
        Pass::Read { x, other } => (4, x, other, None),
    };
    let count = words("x", x, device)?;
    let other_count = other.map_or(Ok(0), |other| words("other", other, device))?;
    if let Some(out) = out {
        for (what, tensor) in [("out", Some(out)), ("other", other)] {
            let Some(tensor) = tensor else { continue };
            check_like(what, tensor, x)?;
            if words(what, tensor, device)? != count {
                let text = format!("{what} is {tensor:?}, but x is {x:?}");
                return Err(TchError::Shape(text));
            }
        }
        refuse_overlap(out, [x].into_iter().chain(other))?;
    }
    if count + other_count == 0 {
        return Ok(None);
    }
    let is_aligned = is_aligned([Some(x), other, out].into_iter().flatten().map(|it| (it, None)))?;
    let accesses = count.max(other_count) / if is_aligned { ACCESS / WORD } else { 1 };
    let blocks = blocks(accesses, TILE).max(1);
    let pointers = [x, out.unwrap_or(partial)].map(Argument::pointer);
    let mut arguments =
        vec![pointers[0], Argument::pointer(other), pointers[1], Argument::Long(count)];
    let blocks = if out.is_some() {
        blocks
    } else {
        arguments.push(Argument::Long(other_count));
        blocks.min(MOST_BLOCKS)
    };
    let kernel = kernel + usize::from(!is_aligned);
    Ok(Some(Launch { kernel, grid: grid(blocks, 1, THREADS)?, arguments }))
}

#[cfg(test)]
#[path = "pass_through_tests.rs"]
mod tests;

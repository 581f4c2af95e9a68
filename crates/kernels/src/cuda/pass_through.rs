//! The pass-through limit on a device (`pass_through.cu`): passes over memory that compute nothing, as
//! fast as an operator can be that reads and writes as much.

use tch::{Device, Kind, TchError, Tensor};

use super::launch::{Kernels, Launch, blocks, grid, is_aligned};
use super::{Argument, Source, source};
use crate::operands::check_like;
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

/// The kernels, in the order of [`Launch::kernel`]: of each pass the one with accesses of 16 bytes,
/// and the one with accesses of 2.
fn names(name: impl Fn(&str) -> String) -> Vec<String> {
    let both = |pass| [name(pass), name(pass) + "_scalar"];
    ["copy", "merge", "read"].into_iter().flat_map(both).collect()
}

/// Entry functions.
pub(super) fn entries() -> Vec<String> {
    names(|pass| format!("pass_{pass}"))
}

/// The names of the kernels in records.
fn recorded() -> Vec<String> {
    names(|pass| format!("criterion_torch::{pass}_cuda"))
}

/// The tensors that a pass reads: contiguous, on one device, of any dtype of even size.
#[derive(Debug, Clone, Copy)]
pub struct Read<'t> {
    /// Any shape.
    pub x: &'t Tensor,
    /// Like x if something is written, else of any shape.
    pub other: Option<&'t Tensor>,
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

    /// Queues the pass on libtorch's current stream. `out` is like x, and becomes x or, bit by bit,
    /// `x ^ other`; without it at most 32 KiB of the XOR are written elsewhere.
    ///
    /// # Errors
    /// When a tensor is not as said or `out` shares memory with an operand, and what the driver says.
    pub fn run(&self, read: Read, out: Option<&mut Tensor>) -> Result<(), TchError> {
        let launches = launches(read, out.as_deref(), &self.partial)?;
        // SAFETY: the parameters of the kernels, for tensors of the device that they were loaded for
        // and of the sizes that are passed; a block writes one access of `partial`.
        unsafe { self.kernels.launch(launches.as_slice()) }
    }

    /// The kernels that [`run`](Self::run) queues: `…_scalar` where a tensor does not begin at a
    /// multiple of 16 bytes; none for no element.
    ///
    /// # Errors
    /// When a tensor is not as said.
    pub fn kernels(&self, read: Read, out: Option<&Tensor>) -> Result<Vec<String>, TchError> {
        let launch = launches(read, out, &self.partial)?;
        Ok(launch.iter().map(|it| recorded().swap_remove(it.kernel)).collect())
    }
}

fn partial(device: Device) -> Result<Tensor, TchError> {
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

fn launches(
    Read { x, other }: Read,
    out: Option<&Tensor>,
    partial: &Tensor,
) -> Result<Option<Launch>, TchError> {
    let device = partial.device();
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
    let mut blocks = blocks(accesses, TILE).max(1);
    let pointers = [Some(x), other, Some(out.unwrap_or(partial))].map(Argument::pointer);
    let mut arguments = pointers.to_vec();
    arguments.push(Argument::Long(count));
    let pass = match (out, other) {
        (Some(_), None) => 0,
        (Some(_), Some(_)) => 1,
        (None, _) => {
            arguments.push(Argument::Long(other_count));
            blocks = blocks.min(MOST_BLOCKS);
            2
        }
    };
    let kernel = 2 * pass + usize::from(!is_aligned);
    Ok(Some(Launch { kernel, grid: grid(blocks, 1, THREADS)?, arguments }))
}

#[cfg(test)]
#[path = "pass_through_tests.rs"]
mod tests;

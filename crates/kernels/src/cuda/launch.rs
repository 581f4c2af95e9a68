//! Launches: of which kernel, over which grid, with which arguments.

use tch::{Kind, TchError, Tensor};

use super::{Argument, Function, Grid, Module, Source};
use crate::rows::Rows;
use native::refusal::Refusal;

/// The size of a kernel's widest access.
pub(super) const ACCESS_BYTES: usize = 16;
const WARP: i64 = 32;
/// `kMostThreads` of the prelude.
const MOST_THREADS: i64 = 1024;

/// A call of a kernel.
#[derive(Debug)]
pub(super) struct Launch {
    /// Its place among the entry functions that were loaded.
    pub kernel: usize,
    pub grid: Grid,
    pub arguments: Vec<Argument>,
}

/// Entry functions of a source on one device.
#[derive(Debug)]
pub(super) struct Kernels {
    functions: Vec<Function>,
}

impl Kernels {
    /// Compiles and loads entry functions of a source.
    pub fn load(source: &Source, entries: &[String], device: usize) -> Result<Self, Refusal> {
        let module = Module::load(source, device)?;
        let functions: Result<_, _> = entries.iter().map(|name| module.function(name)).collect();
        Ok(Self { functions: functions? })
    }

    /// Queues the launches on libtorch's current stream.
    ///
    /// # Safety
    /// As for [`Function::launch`], each for the entry function at its place.
    pub unsafe fn launch(&self, launches: &[Launch]) -> Result<(), TchError> {
        for Launch { kernel, grid, arguments } in launches {
            // SAFETY: the caller vouches for it.
            unsafe { self.functions[*kernel].launch(*grid, arguments) }?;
        }
        Ok(())
    }
}

/// A dtype in the names of entry functions.
pub(super) fn dtype(kind: Kind) -> &'static str {
    match kind {
        Kind::BFloat16 => "bf16",
        Kind::Half => "f16",
        _ => "f32",
    }
}

/// Whether every row begins at a multiple of the widest access.
pub(super) fn is_aligned<'t>(
    tensors: impl IntoIterator<Item = (&'t Tensor, Option<Rows>)>,
) -> Result<bool, TchError> {
    for (tensor, rows) in tensors {
        let is_first = (tensor.data_ptr() as usize).is_multiple_of(ACCESS_BYTES);
        let bytes = tensor.f_kind()?.elt_size_in_bytes() as i64;
        let are_others =
            rows.is_none_or(|it| it.count <= 1 || it.stride * bytes % ACCESS_BYTES as i64 == 0);
        if !is_first || !are_others {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The threads that share a row, and those of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Team {
    pub lanes: i64,
    pub threads: i64,
}

impl Team {
    /// Values of a row that a thread can keep: `kKept` of the kernels.
    const KEPT: i64 = 16;
    /// Threads of a block of several teams.
    const THREADS: i64 = 256;
    /// `kHalf` of the prelude.
    pub const HALF: i64 = WARP / 2;

    /// For rows of `dim` values that are read again: a warp for up to 32 values a thread, else as
    /// many threads as have 16 each, up to half of a block.
    pub fn for_dim(dim: i64) -> Self {
        if dim <= WARP * 2 * Self::KEPT {
            return Self { lanes: WARP, threads: Self::THREADS };
        }
        let threads = (blocks(dim, Self::KEPT * WARP) * WARP).min(MOST_THREADS / 2);
        Self { lanes: threads, threads }
    }

    /// For rows of `dim` values that the threads keep; none for rows that no block can.
    pub fn keeping(dim: i64) -> Option<Self> {
        let lanes = match blocks(dim, Self::KEPT) {
            ..=Self::HALF => Self::HALF,
            threads => blocks(threads, WARP) * WARP,
        };
        let threads = if lanes > WARP { lanes } else { Self::THREADS };
        (threads <= MOST_THREADS).then_some(Self { lanes, threads })
    }

    /// Rows that a block has at once.
    pub fn rows(self) -> i64 {
        self.threads / self.lanes
    }

    /// A block for as many rows as it has teams.
    pub fn grid(self, rows: i64) -> Result<Grid, TchError> {
        grid(blocks(rows, self.rows()), 1, self.threads)
    }
}

/// Blocks for `size` things, `each` per block.
pub(super) fn blocks(size: i64, each: i64) -> i64 {
    (size + each - 1) / each
}

/// A grid, if CUDA has it.
pub(super) fn grid(x: i64, y: i64, threads: i64) -> Result<Grid, TchError> {
    let most = i64::from(i32::MAX);
    match (u32::try_from(x.min(most)), u32::try_from(y), u32::try_from(threads)) {
        (Ok(columns), Ok(rows), Ok(threads)) if x <= most && y <= 65_535 => {
            Ok(Grid { blocks: (columns, rows), threads })
        }
        _ => Err(TchError::Shape(format!("{x} × {y} blocks are more than CUDA has"))),
    }
}

/// The length of a row as the kernels take it: what they add to it does not overflow.
pub(super) fn int(dim: i64) -> Result<i32, TchError> {
    match i32::try_from(dim) {
        Ok(dim) if dim <= 1 << 30 => Ok(dim),
        _ => Err(TchError::Shape(format!("rows of {dim} values, but the kernel takes up to 2^30"))),
    }
}

#[cfg(test)]
#[path = "launch_tests.rs"]
mod tests;

//! What the kernels of operators have in common: tensors as rows, and launches.

use tch::{Device, Kind, TchError, Tensor};

use super::{Argument, Function, Grid, Module, Source};
use crate::rows::Rows;
use native::refusal::Refusal;

/// What the widest access of a kernel takes.
const ACCESS_BYTES: usize = 16;
const WARP: i64 = 32;
/// `kMostThreads` of the prelude.
const MOST_THREADS: i64 = 512;

/// A call of a kernel: which of an operator's, and with what.
#[derive(Debug)]
pub(super) struct Launch {
    /// Its place among the operator's entry functions.
    pub kernel: usize,
    pub grid: Grid,
    pub arguments: Vec<Argument>,
}

/// An operator's kernels on one device, for one dtype.
#[derive(Debug)]
pub(super) struct Kernels {
    functions: Vec<Function>,
}

impl Kernels {
    /// Compiles and loads entry functions of a source.
    ///
    /// # Errors
    /// As for [`Module::load`].
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

/// What a record calls each of an operator's kernels: `criterion_torch::gelu_cuda` and so on for every
/// suffix, in the order of [`Launch::kernel`].
macro_rules! names {
    ($name:literal, $($suffix:literal)+) => {
        [$(&[concat!("criterion_torch::", $name, "_cuda", $suffix)] as &[&str]),+]
    };
}
pub(super) use names;

/// Entry functions of an operator for a dtype, one for every suffix, in the order of [`Launch::kernel`].
pub(super) fn entries<const N: usize>(
    name: &str,
    place: Place,
    suffixes: [&str; N],
) -> [String; N] {
    suffixes.map(|suffix| format!("{name}_{}{suffix}", place.dtype()))
}

/// Where an operator's tensors are, and their dtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub kind: Kind,
    pub device: Device,
}

impl Place {
    /// A dtype that the kernels take, on a CUDA device.
    ///
    /// # Errors
    /// Unsupported for another dtype.
    pub fn new(kind: Kind, device: usize) -> Result<Self, Refusal> {
        if !matches!(kind, Kind::Float | Kind::BFloat16 | Kind::Half) {
            return Err(Refusal::Unsupported(format!(
                "{kind:?}, but the kernel takes float32, bfloat16 and float16"
            )));
        }
        Ok(Self { kind, device: Device::Cuda(device) })
    }

    /// What entry functions call the dtype.
    pub fn dtype(self) -> &'static str {
        match self.kind {
            Kind::BFloat16 => "bf16",
            Kind::Half => "f16",
            _ => "f32",
        }
    }

    /// Values of the widest access.
    pub fn width(self) -> i64 {
        (ACCESS_BYTES / self.kind.elt_size_in_bytes()) as i64
    }

    /// Demands this dtype and device.
    pub fn check(self, what: &str, tensor: &Tensor) -> Result<(), TchError> {
        let found = Self { kind: tensor.f_kind()?, device: tensor.device() };
        if found == self {
            return Ok(());
        }
        Err(TchError::Shape(format!(
            "{what} is {:?} on {:?}, but the kernel was loaded for {:?} on {:?}",
            found.kind, found.device, self.kind, self.device
        )))
    }

    /// The tensor as rows, if it is of this dtype and device.
    pub fn rows(self, what: &str, tensor: &Tensor) -> Result<Rows, TchError> {
        self.check(what, tensor)?;
        Rows::of(what, tensor)
    }

    /// A tensor of `dim` values, one after another.
    pub fn vector(self, what: &str, tensor: &Tensor, dim: i64) -> Result<(), TchError> {
        self.check(what, tensor)?;
        if tensor.size() == [dim] && tensor.is_contiguous() {
            return Ok(());
        }
        let (size, strides) = (tensor.size(), tensor.stride());
        Err(TchError::Shape(format!(
            "{what} is {size:?} with strides {strides:?}, but must be [{dim}]"
        )))
    }

    /// As [`rows`](Self::rows), written to, and of the shape of the input.
    pub fn out_rows(self, out: &Tensor, input: &Tensor) -> Result<Rows, TchError> {
        check_like("out", out, input)?;
        self.check("out", out)?;
        Rows::of_output("out", out)
    }
}

/// Demands the shape of the input.
pub(super) fn check_like(what: &str, tensor: &Tensor, input: &Tensor) -> Result<(), TchError> {
    if tensor.size() == input.size() {
        return Ok(());
    }
    let (found, expected) = (tensor.size(), input.size());
    Err(TchError::Shape(format!("{what} is {found:?}, but x is {expected:?}")))
}

/// Demands an operand where the operator has it, and none where it has not.
pub(super) fn operand<'t>(
    what: &str,
    is_needed: bool,
    tensor: Option<&'t Tensor>,
) -> Result<Option<&'t Tensor>, TchError> {
    if is_needed == tensor.is_some() {
        return Ok(tensor);
    }
    let problem = if is_needed { "is missing" } else { "is of no use to this operator" };
    Err(TchError::Shape(format!("{what} {problem}")))
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
    const KEPT: i64 = 32;
    /// Threads of a block of several teams.
    const THREADS: i64 = 256;

    /// For rows of `dim` values: a warp where it can keep them, else as many as have 16 values each.
    pub fn of(dim: i64) -> Self {
        if dim <= WARP * Self::KEPT {
            return Self { lanes: WARP, threads: Self::THREADS };
        }
        let threads = (blocks(dim, 16 * WARP) * WARP).min(MOST_THREADS);
        Self { lanes: threads, threads }
    }

    fn keeps(self, dim: i64) -> bool {
        dim <= self.lanes * Self::KEPT
    }

    /// Which of an operator's kernels takes the rows: 0 keeps them in registers, 1 reads them again,
    /// 2 does so value by value, where accesses of `width` values do not fit.
    pub fn kernel(self, dim: i64, width: i64, is_aligned: bool) -> usize {
        match is_aligned && dim % width == 0 {
            true if self.keeps(dim) => 0,
            true => 1,
            false => 2,
        }
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
#[path = "operator_tests.rs"]
mod tests;

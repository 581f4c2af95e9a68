//! Activations (`pointwise.cu`).

use tch::{Kind, TchError, Tensor};

use super::operator::{Kernels, Launch, Place, blocks, grid, is_aligned, names, operand};
use super::{Argument, Source, operator, source};
use crate::overlap::refuse_overlap;
use crate::rows::Rows;
use native::refusal::Refusal;

/// The kernels' source.
pub(super) const SOURCE: Source = source!("pointwise.cu");

/// `kThreads` of the source.
const THREADS: i64 = 256;
/// `kUnroll` of the source.
const ACCESSES: i64 = 2;
/// Blocks up to which every row gets threads of its own.
const ENOUGH_BLOCKS: i64 = 4096;

/// y = f(x), in the formulas of libtorch. f of −∞ is NaN, as in ATen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// x · Φ(x).
    Gelu,
    /// ½x · (1 + tanh(√(2/π) · (x + 0.044715x³))).
    GeluTanh,
    /// x · σ(x).
    Silu,
    /// (x + b) · Φ(x + b).
    BiasGelu,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Gelu, Self::GeluTanh, Self::Silu, Self::BiasGelu];

    fn name(self) -> &'static str {
        match self {
            Self::Gelu => "gelu",
            Self::GeluTanh => "gelu_tanh",
            Self::Silu => "silu",
            Self::BiasGelu => "bias_gelu",
        }
    }

    /// What a record calls the kernels: with accesses of 16 bytes, and value by value.
    fn kernels(self) -> [&'static [&'static str]; 2] {
        match self {
            Self::Gelu => names!("gelu", "" "_scalar"),
            Self::GeluTanh => names!("gelu_tanh", "" "_scalar"),
            Self::Silu => names!("silu", "" "_scalar"),
            Self::BiasGelu => names!("bias_gelu", "" "_scalar"),
        }
    }
}

/// Entry functions, in the order of [`Launch::kernel`].
pub(super) fn entries(operation: Operation, place: Place) -> [String; 2] {
    operator::entries(operation.name(), place, ["", "_scalar"])
}

/// An activation's kernels on a device, for one dtype.
#[derive(Debug)]
pub struct Pointwise {
    operation: Operation,
    place: Place,
    kernels: Kernels,
}

impl Pointwise {
    /// Compiles and loads the kernels, for float32, bfloat16 or float16.
    ///
    /// # Errors
    /// Unsupported for another dtype or an older GPU; skipped where NVRTC, the driver or the device
    /// is missing.
    pub fn load(operation: Operation, kind: Kind, device: usize) -> Result<Self, Refusal> {
        let place = Place::new(kind, device)?;
        let kernels = Kernels::load(&SOURCE, &entries(operation, place), device)?;
        Ok(Self { operation, place, kernels })
    }

    /// `out = f(x)` or `f(x + bias)`, queued on libtorch's current stream. x and out are of one
    /// shape, with neighbouring values in the last dimension and one stride between rows; the bias is
    /// `[dim]`, for [`Operation::BiasGelu`] alone. Arithmetic is float32, rounded once.
    ///
    /// # Errors
    /// When a tensor is not as said or `out` shares memory with an operand, and what the driver
    /// says.
    pub fn run(&self, x: &Tensor, bias: Option<&Tensor>, out: &mut Tensor) -> Result<(), TchError> {
        let launches = launches(self.operation, self.place, x, bias, out)?;
        // SAFETY: the parameters of every kernel of the source, for tensors of the dtype and device
        // that the kernels were loaded for, and of the sizes that are passed.
        unsafe { self.kernels.launch(launches.as_slice()) }
    }

    /// What [`run`](Self::run) queues for these tensors: `…_scalar` where a row does not begin at a
    /// multiple of 16 bytes; none for no element.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn kernels(
        &self,
        x: &Tensor,
        bias: Option<&Tensor>,
        out: &Tensor,
    ) -> Result<&'static [&'static str], TchError> {
        let launches = launches(self.operation, self.place, x, bias, out)?;
        Ok(launches.map_or(&[], |it| self.operation.kernels()[it.kernel]))
    }
}

pub(super) fn launches(
    operation: Operation,
    place: Place,
    x: &Tensor,
    bias: Option<&Tensor>,
    out: &Tensor,
) -> Result<Option<Launch>, TchError> {
    let bias = operand("bias", operation == Operation::BiasGelu, bias)?;
    let mut from = place.rows("x", x)?;
    let mut to = place.out_rows(out, x)?;
    if let Some(bias) = bias {
        place.vector("bias", bias, from.dim)?;
    }
    refuse_overlap(out, [x].into_iter().chain(bias))?;
    if from.is_empty() {
        return Ok(None);
    }
    if bias.is_none() && from.is_dense() && to.is_dense() {
        (from, to) = (from.joined(), to.joined());
    }
    let tensors = [(x, Some(from)), (out, Some(to))].into_iter().chain(bias.map(|it| (it, None)));
    let is_aligned = is_aligned(tensors)?;
    let width = if is_aligned { place.width() } else { 1 };
    let (lanes, columns, rows) = shape(from, width);
    let grid = grid(columns, rows, THREADS)?;
    let arguments = vec![
        Argument::pointer(x),
        Argument::pointer(bias),
        Argument::pointer(out),
        Argument::Long(from.count),
        Argument::Long(from.dim),
        Argument::Long(from.stride),
        Argument::Long(to.stride),
        Argument::Int(lanes),
    ];
    Ok(Some(Launch { kernel: usize::from(!is_aligned), grid, arguments }))
}

/// Threads that lie side by side along a row, and the blocks along a row and down the rows, with
/// accesses of `width` values.
fn shape(rows: Rows, width: i64) -> (i32, i64, i64) {
    let accesses = (rows.dim / width).max(1);
    // Few rows need the whole block; for more, a warp at a time wastes the fewest threads.
    let most: u32 = if rows.count < THREADS / 32 { 256 } else { 32 };
    let wanted = blocks(accesses, ACCESSES).min(i64::from(most)) as u32;
    let lanes = wanted.next_power_of_two();
    let columns = blocks(accesses, i64::from(lanes) * ACCESSES);
    let all = blocks(rows.count, THREADS / i64::from(lanes));
    let at_once = (ENOUGH_BLOCKS / columns).max(1);
    (lanes as i32, columns, all.min(at_once))
}

#[cfg(test)]
#[path = "pointwise_tests.rs"]
mod tests;

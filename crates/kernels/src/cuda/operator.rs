//! The operators: activations (`pointwise.cu`), what is taken over rows (`normalization.cu`,
//! `softmax.cu`) and losses, which are means over everything (`losses.cu`).
//!
//! The first kernel of a loss leaves one sum per block, and a second adds them up: always in the same
//! order, so results repeat to the bit.

use plan::Operator;
use tch::{Device, Kind, TchError, Tensor};

use super::launch::{ACCESS_BYTES, Kernels, Launch, Team, blocks, dtype, grid, int, is_aligned};
use super::{Argument, Source, source};
use crate::operands::{OperandRows, Operands, TensorOptions};
use crate::rows::Rows;
use native::refusal::Refusal;

/// `kThreads` of the sources.
const THREADS: i64 = 256;
/// `kUnroll` of `pointwise.cu`.
const ACCESSES: i64 = 2;
/// Blocks of an activation up to which every row gets threads of its own.
const ENOUGH_BLOCKS: i64 = 4096;
/// Accesses, or single values, that a block of `mse_loss` reads of each row at once.
const TILE: i64 = THREADS * 4;
/// Sums that the first kernel of a loss leaves at most. The same on every device: it decides the
/// order.
const MOST_SUMS: i64 = 2048;

/// Kernels of an operator, as [`Launch::kernel`]: the one with accesses of 16 bytes, the one that
/// goes value by value, and further ones: for rows too long for registers, and for those that half a
/// warp keeps; or what adds up a loss.
const VECTOR: usize = 0;
const SCALAR: usize = 1;
const LONG: usize = 2;
const SHORT: usize = 3;
const MEAN: usize = 2;

/// Operators whose kernels are in one file and are launched alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Activation,
    Normalization,
    Softmax,
    Loss,
}

/// None of an operator that has no kernels here.
fn family(operator: Operator) -> Option<Family> {
    match operator {
        Operator::Gelu | Operator::GeluTanh | Operator::Silu | Operator::BiasGelu => {
            Some(Family::Activation)
        }
        Operator::LayerNorm
        | Operator::LayerNormNoAffine
        | Operator::RmsNorm
        | Operator::AddLayerNorm => Some(Family::Normalization),
        Operator::Softmax => Some(Family::Softmax),
        Operator::MseLoss | Operator::CrossEntropy => Some(Family::Loss),
    }
}

/// The file that an operator's kernels are in.
pub(super) fn source(operator: Operator) -> Option<Source<'static>> {
    Some(match family(operator)? {
        Family::Activation => source!("pointwise.cu"),
        Family::Normalization => source!("normalization.cu"),
        Family::Softmax => source!("softmax.cu", "online.cuh"),
        Family::Loss => source!("losses.cu", "online.cuh"),
    })
}

/// The names of an operator's kernels, with `dtype` behind the operator's name.
fn names(operator: Operator, dtype: &str) -> Vec<String> {
    let name = |suffix: &str| format!("{operator}_{dtype}{suffix}");
    let further = match family(operator) {
        None => return Vec::new(),
        Some(Family::Activation) => vec![],
        Some(Family::Normalization | Family::Softmax) => vec![name("_long"), name("_short")],
        Some(Family::Loss) => vec![format!("mean_{dtype}")],
    };
    [name(""), name("_scalar")].into_iter().chain(further).collect()
}

/// Entry functions, in the order of [`Launch::kernel`].
pub(super) fn entries(operator: Operator, kind: Kind) -> Vec<String> {
    names(operator, dtype(kind))
}

/// An operator's kernels on a device, for one dtype.
#[derive(Debug)]
pub struct OperatorKernels {
    operator: Operator,
    options: TensorOptions,
    kernels: Kernels,
    /// Between the two kernels of a loss.
    sums: Tensor,
}

impl OperatorKernels {
    /// Compiles and loads the kernels, for float32, bfloat16 or float16; of a loss, also allocates
    /// 16 KiB between them.
    ///
    /// # Errors
    /// Unsupported for another dtype, an older GPU or an operator without such kernels; skipped where
    /// NVRTC, the driver or the device is missing; out of memory.
    pub fn load(operator: Operator, kind: Kind, device: usize) -> Result<Self, Refusal> {
        let options = TensorOptions::new(kind, Device::Cuda(device))?;
        let source = source(operator).ok_or_else(|| Refusal::Unsupported(no_kernel(operator)))?;
        let kernels = Kernels::load(&source, &entries(operator, kind), device)?;
        Ok(Self { operator, options, kernels, sums: sums(operator, options.device)? })
    }

    /// Queues the operator on libtorch's current stream. Arithmetic is float32, rounded once; of a
    /// loss, sums of blocks or rows are float64.
    ///
    /// | operator | what is NaN |
    /// |---|---|
    /// | activations | f(−∞), as in ATen |
    /// | softmax | a row with NaN or +∞, or of −∞ alone |
    /// | cross_entropy | the same row makes the mean NaN, as in ATen; so do a target outside 0..dim, of which none is ignored, and no rows |
    /// | mse_loss | the mean of nothing |
    ///
    /// Calls of one loss must be on one stream: they share memory.
    ///
    /// # Errors
    /// When a tensor is not as [`Operands`] says or `out` shares memory with an operand, and what
    /// the driver says.
    pub fn run(&self, operands: &Operands, out: &mut Tensor) -> Result<(), TchError> {
        let launches = launches(self.operator, self.options, operands, &self.sums, out)?;
        // SAFETY: the parameters of the operator's kernels, for tensors of the dtype and device that
        // they were loaded for, and of the sizes that are passed; a block writes one of `sums`.
        unsafe { self.kernels.launch(&launches) }
    }

    /// The names in records of the kernels that [`run`](Self::run) queues for these tensors:
    /// `…_scalar` where 16-byte accesses do not fit the rows, `…_short` for up to 256 values in one and
    /// `…_long` for more than 16384; for no element none, or of a loss the mean alone.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn kernels(&self, operands: &Operands, out: &Tensor) -> Result<Vec<String>, TchError> {
        let launches = launches(self.operator, self.options, operands, &self.sums, out)?;
        Ok(launches.iter().map(|it| recorded(self.operator, it.kernel)).collect())
    }
}

fn no_kernel(operator: Operator) -> String {
    format!("operator `{operator}` has no kernel in CUDA C++")
}

fn recorded(operator: Operator, kernel: usize) -> String {
    format!("criterion_torch::{}", names(operator, "cuda")[kernel])
}

/// Room for the sums of blocks, which losses alone have.
pub(super) fn sums(operator: Operator, device: Device) -> Result<Tensor, TchError> {
    let count = if operator.is_loss() { MOST_SUMS } else { 0 };
    Tensor::f_empty([count], (Kind::Double, device))
}

pub(super) fn launches(
    operator: Operator,
    options: TensorOptions,
    operands: &Operands,
    sums: &Tensor,
    out: &Tensor,
) -> Result<Vec<Launch>, TchError> {
    let rows = operands.check(operator, options, out)?;
    let width = (ACCESS_BYTES / options.kind.elt_size_in_bytes()) as i64;
    let launch = match family(operator).ok_or_else(|| TchError::Torch(no_kernel(operator)))? {
        Family::Loss => return loss(operator, operands, rows, width, sums, out),
        _ if rows.x.is_empty() => return Ok(Vec::new()),
        Family::Activation => activation(operands, rows, width, out)?,
        Family::Normalization => over_rows(true, operands, rows, width, out)?,
        Family::Softmax => over_rows(false, operands, rows, width, out)?,
    };
    Ok(vec![launch])
}

fn activation(
    &Operands { x, bias, .. }: &Operands,
    OperandRows { x: mut from, out: mut to, .. }: OperandRows,
    width: i64,
    out: &Tensor,
) -> Result<Launch, TchError> {
    if bias.is_none() && from.is_dense() && to.is_dense() {
        (from, to) = (from.joined(), to.joined());
    }
    let tensors = [(x, Some(from)), (out, Some(to))].into_iter().chain(bias.map(|it| (it, None)));
    let is_aligned = is_aligned(tensors)?;
    let (lanes, columns, rows) = shape(from, if is_aligned { width } else { 1 });
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
    let kernel = if is_aligned { VECTOR } else { SCALAR };
    Ok(Launch { kernel, grid: grid(columns, rows, THREADS)?, arguments })
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

/// Softmax, and the normalizations, which have further operands.
fn over_rows(
    is_norm: bool,
    &Operands { x, other, weight, bias }: &Operands,
    rows: OperandRows,
    width: i64,
    out: &Tensor,
) -> Result<Launch, TchError> {
    let from = rows.x;
    let tensors = [(x, Some(from)), (out, Some(rows.out))]
        .into_iter()
        .chain(other.map(|it| (it, rows.other)))
        .chain([weight, bias].into_iter().flatten().map(|it| (it, None)));
    let is_vector = is_aligned(tensors)? && from.dim % width == 0;
    let (kernel, team) = match Team::keeping(from.dim) {
        _ if !is_vector => (SCALAR, Team::for_dim(from.dim)),
        Some(team) if team.lanes == Team::HALF => (SHORT, team),
        Some(team) => (VECTOR, team),
        None => (LONG, Team::for_dim(from.dim)),
    };
    let mut arguments = vec![Argument::pointer(x)];
    if is_norm {
        arguments.extend([other, weight, bias].map(Argument::pointer));
    }
    let sizes = [Argument::Long(from.count), Argument::Int(int(from.dim)?)];
    arguments.extend([Argument::pointer(out)].into_iter().chain(sizes));
    arguments.push(Argument::Long(from.stride));
    if is_norm {
        arguments.push(Argument::Long(rows.other.map_or(0, |it| it.stride)));
    }
    arguments.extend([Argument::Long(rows.out.stride), Argument::Int(team.lanes as i32)]);
    Ok(Launch { kernel, grid: team.grid(from.count)?, arguments })
}

/// The launch that leaves sums, where there is a value, and that of `mean`.
fn loss(
    operator: Operator,
    operands: &Operands,
    rows: OperandRows,
    width: i64,
    sums: &Tensor,
    out: &Tensor,
) -> Result<Vec<Launch>, TchError> {
    let is_mse = operator == Operator::MseLoss;
    // Without classes, there is no target either: NaN, and not the mean of zeros.
    let count = match rows.x {
        empty if empty.is_empty() => 0,
        rows if is_mse => rows.values(),
        rows => rows.count,
    };
    let mut launches = Vec::new();
    let mut partials = 0;
    if count > 0 {
        let (blocks, first) = match rows.other {
            Some(other) if is_mse => squared_errors(operands, rows.x, other, width, sums)?,
            _ => cross_entropies(operands, rows.x, width, sums)?,
        };
        partials = blocks;
        launches.push(first);
    }
    let arguments = vec![
        Argument::pointer(sums),
        Argument::pointer(out),
        Argument::Int(int(partials)?),
        Argument::Long(count),
    ];
    launches.push(Launch { kernel: MEAN, grid: grid(1, 1, THREADS)?, arguments });
    Ok(launches)
}

/// The sums that it leaves, and the launch.
fn squared_errors(
    &Operands { x, other: target, .. }: &Operands,
    mut from: Rows,
    mut other: Rows,
    width: i64,
    sums: &Tensor,
) -> Result<(i64, Launch), TchError> {
    if from.is_dense() && other.is_dense() {
        (from, other) = (from.joined(), other.joined());
    }
    let target_rows = target.map(|it| (it, Some(other)));
    let is_aligned = is_aligned([(x, Some(from))].into_iter().chain(target_rows))?;
    let tiles = blocks(from.dim / if is_aligned { width } else { 1 }, TILE).max(1);
    let partials = from.count.saturating_mul(tiles).min(MOST_SUMS);
    let arguments = vec![
        Argument::pointer(x),
        Argument::pointer(target),
        Argument::pointer(sums),
        Argument::Long(from.count),
        Argument::Long(from.dim),
        Argument::Long(from.stride),
        Argument::Long(other.stride),
    ];
    let kernel = if is_aligned { VECTOR } else { SCALAR };
    Ok((partials, Launch { kernel, grid: grid(partials, 1, THREADS)?, arguments }))
}

/// The sums that it leaves, and the launch.
fn cross_entropies(
    &Operands { x, other: target, .. }: &Operands,
    from: Rows,
    width: i64,
    sums: &Tensor,
) -> Result<(i64, Launch), TchError> {
    let is_vector = is_aligned([(x, Some(from))])? && from.dim % width == 0;
    let team = Team::for_dim(from.dim);
    let partials = blocks(from.count, team.rows()).min(MOST_SUMS);
    let arguments = vec![
        Argument::pointer(x),
        Argument::pointer(target),
        Argument::pointer(sums),
        Argument::Long(from.count),
        Argument::Int(int(from.dim)?),
        Argument::Long(from.stride),
        Argument::Int(team.lanes as i32),
    ];
    let kernel = if is_vector { VECTOR } else { SCALAR };
    Ok((partials, Launch { kernel, grid: grid(partials, 1, team.threads)?, arguments }))
}

#[cfg(test)]
#[path = "operator_tests.rs"]
mod tests;

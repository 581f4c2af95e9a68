//! Losses, as means over everything (`losses.cu`).
//!
//! A first kernel leaves one sum per block, a second adds them up: always in the same order, so
//! results repeat to the bit.

use tch::{Device, Kind, TchError, Tensor};

use super::operator::{Kernels, Launch, Place, Team, blocks, check_like, grid, int, is_aligned};
use super::{Argument, Source, source};
use crate::overlap::refuse_overlap;
use crate::rows::Rows;
use native::refusal::Refusal;

/// The kernels' source.
pub(super) const SOURCE: Source = source!("losses.cu", "online.cuh");

/// Of the kernels of `mse_loss` and `mean`.
const THREADS: i64 = 256;
/// Values of an access of 16 bytes, or single ones, that a block reads of each row at once.
const TILE: i64 = THREADS * 4;
/// Sums that the first kernel leaves at most. The same on every device: it decides the order.
const MOST_BLOCKS: i64 = 2048;

/// Entry functions, in the order of [`Launch::kernel`].
pub(super) fn entries(loss: &str, place: Place) -> [String; 3] {
    let dtype = place.dtype();
    [format!("{loss}_{dtype}"), format!("{loss}_{dtype}_scalar"), format!("mean_{dtype}")]
}

/// What both losses need: their kernels and the memory between them.
#[derive(Debug)]
struct Loss {
    place: Place,
    kernels: Kernels,
    /// float64 `[MOST_BLOCKS]`.
    partial: Tensor,
}

impl Loss {
    fn load(name: &str, kind: Kind, device: usize) -> Result<Self, Refusal> {
        let place = Place::new(kind, device)?;
        let kernels = Kernels::load(&SOURCE, &entries(name, place), device)?;
        Ok(Self { place, kernels, partial: partial(place.device)? })
    }

    /// # Safety
    /// The launches are those of the loss that was loaded.
    unsafe fn run(&self, launches: &[Launch]) -> Result<(), TchError> {
        // SAFETY: the parameters of the kernels, for tensors of the dtype and device that they were
        // loaded for, and of the sizes that are passed; a block writes one of `partial`.
        unsafe { self.kernels.launch(launches) }
    }
}

pub(super) fn partial(device: Device) -> Result<Tensor, TchError> {
    Tensor::f_empty([MOST_BLOCKS], (Kind::Double, device))
}

/// Queues `mean` after the launch that leaves `partials` sums, which add up `count` losses.
fn with_mean(
    first: Option<Launch>,
    partial: &Tensor,
    partials: i64,
    out: &Tensor,
    count: i64,
) -> Result<Vec<Launch>, TchError> {
    let arguments = vec![
        Argument::pointer(partial),
        Argument::pointer(out),
        Argument::Int(int(partials)?),
        Argument::Long(count),
    ];
    let mean = Launch { kernel: 2, grid: grid(1, 1, THREADS)?, arguments };
    Ok(first.into_iter().chain([mean]).collect())
}

/// Demands a scalar of the operator's dtype that lies nowhere in the operands.
fn check_out<'t>(
    place: Place,
    out: &Tensor,
    operands: impl IntoIterator<Item = &'t Tensor>,
) -> Result<(), TchError> {
    place.check("out", out)?;
    if out.numel() != 1 {
        return Err(TchError::Shape(format!("out is {:?}, but must be a scalar", out.size())));
    }
    refuse_overlap(out, operands)
}

/// The mean of (x − t)².
#[derive(Debug)]
pub struct MseLoss(Loss);

impl MseLoss {
    /// Compiles and loads the kernels, for float32, bfloat16 or float16, and allocates 16 KiB
    /// between them.
    ///
    /// # Errors
    /// Unsupported for another dtype or an older GPU; skipped where NVRTC, the driver or the device
    /// is missing; out of memory.
    pub fn load(kind: Kind, device: usize) -> Result<Self, Refusal> {
        Loss::load("mse_loss", kind, device).map(Self)
    }

    /// `out = mean((x − t)²)`, a scalar, queued on libtorch's current stream. x and the target are of
    /// one shape, with neighbouring values in the last dimension and one stride between rows. Squares
    /// and the sums of a block are float32, sums of blocks float64; the mean of nothing is NaN.
    /// Calls of one `MseLoss` must be on one stream: they share memory.
    ///
    /// # Errors
    /// When a tensor is not as said or `out` shares memory with an operand, and what the driver
    /// says.
    pub fn run(&self, x: &Tensor, target: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        // SAFETY: launches of this loss.
        unsafe { self.0.run(&self.launches(x, target, out)?) }
    }

    /// What [`run`](Self::run) queues for these tensors: `…_scalar` where a row does not begin at a
    /// multiple of 16 bytes; the mean alone for no element.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn kernels(
        &self,
        x: &Tensor,
        target: &Tensor,
        out: &Tensor,
    ) -> Result<&'static [&'static str], TchError> {
        const KERNELS: [&[&str]; 3] = [
            &["criterion_torch::mse_loss_cuda", "criterion_torch::mean_cuda"],
            &["criterion_torch::mse_loss_cuda_scalar", "criterion_torch::mean_cuda"],
            &["criterion_torch::mean_cuda"],
        ];
        Ok(KERNELS[self.launches(x, target, out)?[0].kernel])
    }

    fn launches(&self, x: &Tensor, target: &Tensor, out: &Tensor) -> Result<Vec<Launch>, TchError> {
        mse_launches(self.0.place, x, target, &self.0.partial, out)
    }
}

pub(super) fn mse_launches(
    place: Place,
    x: &Tensor,
    target: &Tensor,
    partial: &Tensor,
    out: &Tensor,
) -> Result<Vec<Launch>, TchError> {
    let mut from = place.rows("x", x)?;
    check_like("the target", target, x)?;
    let mut other = place.rows("the target", target)?;
    check_out(place, out, [x, target])?;
    let count = from.values();
    if count == 0 {
        return with_mean(None, partial, 0, out, 0);
    }
    if from.is_dense() && other.is_dense() {
        (from, other) = (from.joined(), other.joined());
    }
    let is_aligned = is_aligned([(x, Some(from)), (target, Some(other))])?;
    let width = if is_aligned { place.width() } else { 1 };
    let tiles = blocks(from.dim / width, TILE).max(1);
    let partials = from.count.saturating_mul(tiles).min(MOST_BLOCKS);
    let arguments = vec![
        Argument::pointer(x),
        Argument::pointer(target),
        Argument::pointer(partial),
        Argument::Long(from.count),
        Argument::Long(from.dim),
        Argument::Long(from.stride),
        Argument::Long(other.stride),
    ];
    let kernel = usize::from(!is_aligned);
    let first = Launch { kernel, grid: grid(partials, 1, THREADS)?, arguments };
    with_mean(Some(first), partial, partials, out, count)
}

/// The mean over rows of log Σ exp(x) − x\[target\].
#[derive(Debug)]
pub struct CrossEntropy(Loss);

impl CrossEntropy {
    /// As [`MseLoss::load`].
    ///
    /// # Errors
    /// As for [`MseLoss::load`].
    pub fn load(kind: Kind, device: usize) -> Result<Self, Refusal> {
        Loss::load("cross_entropy", kind, device).map(Self)
    }

    /// `out = mean(log Σ exp(logits) − logits[target])` over rows, a scalar, queued on libtorch's
    /// current stream. Logits are `[rows, dim]` with neighbouring values in a row, targets int64
    /// `[rows]`, contiguous. A target outside 0..dim makes the mean NaN; none is ignored. So does a
    /// row with NaN or +∞, or of −∞ alone, as in ATen. Rows are float32, sums of rows float64; the
    /// mean of no rows is NaN. Calls of one `CrossEntropy` must be on one stream: they share memory.
    ///
    /// # Errors
    /// When a tensor is not as said or `out` shares memory with an operand, and what the driver
    /// says.
    pub fn run(&self, logits: &Tensor, target: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        // SAFETY: launches of this loss.
        unsafe { self.0.run(&self.launches(logits, target, out)?) }
    }

    /// What [`run`](Self::run) queues for these tensors: `…_scalar` where 16-byte accesses do not fit
    /// the rows; the mean alone for no row.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn kernels(
        &self,
        logits: &Tensor,
        target: &Tensor,
        out: &Tensor,
    ) -> Result<&'static [&'static str], TchError> {
        const KERNELS: [&[&str]; 3] = [
            &["criterion_torch::cross_entropy_cuda", "criterion_torch::mean_cuda"],
            &["criterion_torch::cross_entropy_cuda_scalar", "criterion_torch::mean_cuda"],
            &["criterion_torch::mean_cuda"],
        ];
        Ok(KERNELS[self.launches(logits, target, out)?[0].kernel])
    }

    fn launches(
        &self,
        logits: &Tensor,
        target: &Tensor,
        out: &Tensor,
    ) -> Result<Vec<Launch>, TchError> {
        cross_entropy_launches(self.0.place, logits, target, &self.0.partial, out)
    }
}

pub(super) fn cross_entropy_launches(
    place: Place,
    logits: &Tensor,
    target: &Tensor,
    partial: &Tensor,
    out: &Tensor,
) -> Result<Vec<Launch>, TchError> {
    let (count, _) = logits.size2()?;
    let Rows { dim, stride, .. } = place.rows("logits", logits)?;
    Place { kind: Kind::Int64, ..place }.vector("the target", target, count)?;
    check_out(place, out, [logits, target])?;
    if count == 0 || dim == 0 {
        // Without classes, there is no target either: NaN, and not the mean of zeros.
        return with_mean(None, partial, 0, out, 0);
    }
    let from = Rows { count, dim, stride };
    let is_vector = is_aligned([(logits, Some(from))])? && dim % place.width() == 0;
    let team = Team::of(dim);
    let partials = blocks(count, team.rows()).min(MOST_BLOCKS);
    let arguments = vec![
        Argument::pointer(logits),
        Argument::pointer(target),
        Argument::pointer(partial),
        Argument::Long(count),
        Argument::Int(int(dim)?),
        Argument::Long(stride),
        Argument::Int(team.lanes as i32),
    ];
    let first = Launch {
        kernel: usize::from(!is_vector),
        grid: grid(partials, 1, team.threads)?,
        arguments,
    };
    with_mean(Some(first), partial, partials, out, count)
}

#[cfg(test)]
#[path = "losses_tests.rs"]
mod tests;

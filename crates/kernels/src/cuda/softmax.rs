//! Softmax of rows (`softmax.cu`).

use tch::{Kind, TchError, Tensor};

use super::operator::{Kernels, Launch, Place, Team, int, is_aligned, names};
use super::{Argument, Source, operator, source};
use crate::overlap::refuse_overlap;
use native::refusal::Refusal;

/// The kernels' source.
pub(super) const SOURCE: Source = source!("softmax.cu", "online.cuh");

/// Entry functions, in the order of [`Launch::kernel`].
pub(super) fn entries(place: Place) -> [String; 3] {
    operator::entries("softmax", place, ["", "_long", "_scalar"])
}

/// What a record calls the kernels: rows in registers, long rows, and value by value.
const KERNELS: [&[&str]; 3] = names!("softmax", "" "_long" "_scalar");

/// The kernels of softmax on a device, for one dtype.
#[derive(Debug)]
pub struct Softmax {
    place: Place,
    kernels: Kernels,
}

impl Softmax {
    /// Compiles and loads the kernels, for float32, bfloat16 or float16.
    ///
    /// # Errors
    /// Unsupported for another dtype or an older GPU; skipped where NVRTC, the driver or the device
    /// is missing.
    pub fn load(kind: Kind, device: usize) -> Result<Self, Refusal> {
        let place = Place::new(kind, device)?;
        let kernels = Kernels::load(&SOURCE, &entries(place), device)?;
        Ok(Self { place, kernels })
    }

    /// `out = exp(x − max) / Σ exp(x − max)` over the last dimension, queued on libtorch's current
    /// stream. x and out are of one shape, with neighbouring values in the last dimension and one
    /// stride between rows. Arithmetic is float32, rounded once. A row with NaN or +∞, or of −∞
    /// alone, gives NaN.
    ///
    /// # Errors
    /// When a tensor is not as said or `out` shares memory with x, and what the driver says.
    pub fn run(&self, x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        let launches = launches(self.place, x, out)?;
        // SAFETY: the parameters of every kernel of the source, for tensors of the dtype and device
        // that the kernels were loaded for, and of the sizes that are passed.
        unsafe { self.kernels.launch(launches.as_slice()) }
    }

    /// What [`run`](Self::run) queues for these tensors: `…_scalar` where 16-byte accesses do not fit
    /// the rows, `…_long` for more than 16384 values in one; none for no element.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn kernels(&self, x: &Tensor, out: &Tensor) -> Result<&'static [&'static str], TchError> {
        Ok(launches(self.place, x, out)?.map_or(&[], |it| KERNELS[it.kernel]))
    }
}

pub(super) fn launches(place: Place, x: &Tensor, out: &Tensor) -> Result<Option<Launch>, TchError> {
    let from = place.rows("x", x)?;
    let to = place.out_rows(out, x)?;
    refuse_overlap(out, [x])?;
    if from.is_empty() {
        return Ok(None);
    }
    let team = Team::of(from.dim);
    let is_aligned = is_aligned([(x, Some(from)), (out, Some(to))])?;
    let kernel = team.kernel(from.dim, place.width(), is_aligned);
    let arguments = vec![
        Argument::pointer(x),
        Argument::pointer(out),
        Argument::Long(from.count),
        Argument::Int(int(from.dim)?),
        Argument::Long(from.stride),
        Argument::Long(to.stride),
        Argument::Int(team.lanes as i32),
    ];
    Ok(Some(Launch { kernel, grid: team.grid(from.count)?, arguments }))
}

#[cfg(test)]
#[path = "softmax_tests.rs"]
mod tests;

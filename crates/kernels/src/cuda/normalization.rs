//! Normalizations of rows (`normalization.cu`).

use tch::{Kind, TchError, Tensor};

use super::operator::{Kernels, Launch, Place, Team, check_like, int, is_aligned, names, operand};
use super::{Argument, Source, operator, source};
use crate::overlap::refuse_overlap;
use native::refusal::Refusal;

/// The kernels' source.
pub(super) const SOURCE: Source = source!("normalization.cu");

/// Over the last dimension, with biased variances and ε = 1e-5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Norm {
    /// (x − mean) / √(var + ε) · w + b.
    Layer,
    /// (x − mean) / √(var + ε).
    LayerNoAffine,
    /// x / √(mean(x²) + ε) · w.
    Rms,
    /// [`Layer`](Self::Layer) of x + r.
    AddLayer,
}

impl Norm {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Layer, Self::LayerNoAffine, Self::Rms, Self::AddLayer];

    fn name(self) -> &'static str {
        match self {
            Self::Layer => "layer_norm",
            Self::LayerNoAffine => "layer_norm_no_affine",
            Self::Rms => "rms_norm",
            Self::AddLayer => "add_layer_norm",
        }
    }

    /// What a record calls the kernels: rows in registers, long rows, and value by value.
    fn kernels(self) -> [&'static [&'static str]; 3] {
        match self {
            Self::Layer => names!("layer_norm", "" "_long" "_scalar"),
            Self::LayerNoAffine => names!("layer_norm_no_affine", "" "_long" "_scalar"),
            Self::Rms => names!("rms_norm", "" "_long" "_scalar"),
            Self::AddLayer => names!("add_layer_norm", "" "_long" "_scalar"),
        }
    }
}

/// Entry functions, in the order of [`Launch::kernel`].
pub(super) fn entries(norm: Norm, place: Place) -> [String; 3] {
    operator::entries(norm.name(), place, ["", "_long", "_scalar"])
}

/// What a normalization reads.
#[derive(Debug, Clone, Copy)]
pub struct Operands<'t> {
    /// `[…, dim]`.
    pub x: &'t Tensor,
    /// Like x, for [`Norm::AddLayer`] alone.
    pub residual: Option<&'t Tensor>,
    /// `[dim]`, for all but [`Norm::LayerNoAffine`].
    pub weight: Option<&'t Tensor>,
    /// `[dim]`, for [`Norm::Layer`] and [`Norm::AddLayer`].
    pub bias: Option<&'t Tensor>,
}

/// A normalization's kernels on a device, for one dtype.
#[derive(Debug)]
pub struct Normalization {
    norm: Norm,
    place: Place,
    kernels: Kernels,
}

impl Normalization {
    /// Compiles and loads the kernels, for float32, bfloat16 or float16.
    ///
    /// # Errors
    /// Unsupported for another dtype or an older GPU; skipped where NVRTC, the driver or the device
    /// is missing.
    pub fn load(norm: Norm, kind: Kind, device: usize) -> Result<Self, Refusal> {
        let place = Place::new(kind, device)?;
        let kernels = Kernels::load(&SOURCE, &entries(norm, place), device)?;
        Ok(Self { norm, place, kernels })
    }

    /// `out` = the rows of x, normalized, queued on libtorch's current stream. x, the residual and
    /// out are of one shape, with neighbouring values in the last dimension and one stride between
    /// rows. Arithmetic is float32, rounded once.
    ///
    /// # Errors
    /// When a tensor is not as said or `out` shares memory with an operand, and what the driver
    /// says.
    pub fn run(&self, operands: Operands, out: &mut Tensor) -> Result<(), TchError> {
        let launches = launches(self.norm, self.place, operands, out)?;
        // SAFETY: the parameters of every kernel of the source, for tensors of the dtype and device
        // that the kernels were loaded for, and of the sizes that are passed.
        unsafe { self.kernels.launch(launches.as_slice()) }
    }

    /// What [`run`](Self::run) queues for these tensors: `…_scalar` where 16-byte accesses do not fit
    /// the rows, `…_long` for more than 16384 values in one; none for no element.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn kernels(
        &self,
        operands: Operands,
        out: &Tensor,
    ) -> Result<&'static [&'static str], TchError> {
        let launches = launches(self.norm, self.place, operands, out)?;
        Ok(launches.map_or(&[], |it| self.norm.kernels()[it.kernel]))
    }
}

pub(super) fn launches(
    norm: Norm,
    place: Place,
    operands: Operands,
    out: &Tensor,
) -> Result<Option<Launch>, TchError> {
    let Operands { x, .. } = operands;
    let residual = operand("the residual", norm == Norm::AddLayer, operands.residual)?;
    let weight = operand("the weight", norm != Norm::LayerNoAffine, operands.weight)?;
    let has_bias = matches!(norm, Norm::Layer | Norm::AddLayer);
    let bias = operand("the bias", has_bias, operands.bias)?;
    let from = place.rows("x", x)?;
    let to = place.out_rows(out, x)?;
    let other = match residual {
        Some(residual) => {
            check_like("the residual", residual, x)?;
            Some(place.rows("the residual", residual)?)
        }
        None => None,
    };
    for (what, vector) in [("the weight", weight), ("the bias", bias)] {
        if let Some(vector) = vector {
            place.vector(what, vector, from.dim)?;
        }
    }
    refuse_overlap(out, [x].into_iter().chain(residual).chain(weight).chain(bias))?;
    if from.is_empty() {
        return Ok(None);
    }
    let tensors = [(x, Some(from)), (out, Some(to))]
        .into_iter()
        .chain(residual.map(|it| (it, other)))
        .chain([weight, bias].into_iter().flatten().map(|it| (it, None)));
    let team = Team::of(from.dim);
    let kernel = team.kernel(from.dim, place.width(), is_aligned(tensors)?);
    let arguments = vec![
        Argument::pointer(x),
        Argument::pointer(residual),
        Argument::pointer(weight),
        Argument::pointer(bias),
        Argument::pointer(out),
        Argument::Long(from.count),
        Argument::Int(int(from.dim)?),
        Argument::Long(from.stride),
        Argument::Long(other.map_or(0, |it| it.stride)),
        Argument::Long(to.stride),
        Argument::Int(team.lanes as i32),
    ];
    Ok(Some(Launch { kernel, grid: team.grid(from.count)?, arguments }))
}

#[cfg(test)]
#[path = "normalization_tests.rs"]
mod tests;

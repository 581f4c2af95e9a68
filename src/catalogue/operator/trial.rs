//! Inputs on which an implementation is tried before it is timed.

use plan::{OperatorShape, OperatorWork};
use tch::{Device, Kind, TchError, Tensor};

use super::{Formula, draw, held_in};
use crate::inputs::{self, Inputs};
use crate::kernel::{Float, KernelContext};
use crate::refusal::Refusal;

/// Elements of x, unless the fewest rows have more.
const ELEMENTS: u64 = 20_000;
/// Fewest and most rows, an odd number.
const ROWS: (u64, u64) = (2, 5);
/// The longest row, one more apart: kernels go through rows in another way above some length, the
/// highest of which is 32 768.
const LONGEST: u64 = 65_536;
/// By as many elements of a row, up to this, a kernel may move: a dimension that is cut is as
/// divisible as before.
const WIDEST: u64 = 64;
/// Elements that threads share and that are several tiles of every kernel: twice the 32 768 for which
/// torch, and the kernels in Rust, wake another thread.
const SHARED: u64 = 65_536;
/// A dimension below the width of any vector register, in which an unbiased variance shows in every
/// dtype.
const SHORT: u64 = 7;

/// The special values of x and of tensors of its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    Normal,
    /// Normal values, 2⁻⁹ as large: a variance near ε.
    Small,
    /// Subnormal numbers of the dtype, uniform.
    Denormal,
    /// Uniform, up to the largest that the formula's intermediate results hold.
    Huge,
    /// Normally distributed around a mean that is large and negative: −2¹², −2⁸ and −2⁵ in float32,
    /// float16 and bfloat16, or as large as [`Self::Huge`].
    Offset,
    /// One value to a row.
    Constant,
    /// Zeros of both signs.
    Zero,
    /// Normally distributed, with one NaN.
    Nan,
    /// Normally distributed, with one +∞.
    Infinity,
    /// Normally distributed, with one −∞.
    MinusInfinity,
}

impl Values {
    const ALL: [Self; 10] = [
        Self::Normal,
        Self::Small,
        Self::Denormal,
        Self::Huge,
        Self::Offset,
        Self::Constant,
        Self::Zero,
        Self::Nan,
        Self::Infinity,
        Self::MinusInfinity,
    ];

    /// The word in the record.
    const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Small => "small",
            Self::Denormal => "denormal",
            Self::Huge => "huge",
            Self::Offset => "offset",
            Self::Constant => "constant",
            Self::Zero => "zero",
            Self::Nan => "nan",
            Self::Infinity => "inf",
            Self::MinusInfinity => "-inf",
        }
    }

    /// The value that stands in one place of x alone.
    const fn single(self) -> Option<f64> {
        match self {
            Self::Nan => Some(f64::NAN),
            Self::Infinity => Some(f64::INFINITY),
            Self::MinusInfinity => Some(f64::NEG_INFINITY),
            _ => None,
        }
    }
}

/// How the rows lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    Contiguous,
    /// With NaN between them, each at an address that no wider vector is aligned at.
    Padded,
}

/// Elements before and after a padded row.
const PADDING: (i64, i64) = (1, 2);

#[derive(Debug, Clone, Copy)]
pub(super) struct Small {
    /// The case's operator, implementation, dtype and device, at a small size.
    pub(super) context: KernelContext<OperatorWork>,
    values: Values,
    layout: Layout,
    /// The index of the single value in its row.
    place: u64,
}

/// The inputs on which the context's implementation is tried: few rows of its own dimension, of those
/// beside it and of a short one. NaN and infinity, which a kernel may lose in what is left of a row
/// after its last whole vector, and normal values are tried in all of them; normal values also in so
/// many rows that several threads share them.
pub(super) fn trials(context: &KernelContext<OperatorWork>) -> Vec<Small> {
    let own = dimension(context.work.size.tensor_dimension);
    let aligned = (own, Layout::Contiguous, own - 1);
    let longer = (own + 1, Layout::Padded, own);
    let short = (SHORT, Layout::Contiguous, SHORT - 1);
    let shared = Small {
        context: with_rows(context, SHARED / own + 1, own),
        values: Values::Normal,
        layout: Layout::Contiguous,
        place: 0,
    };
    let mut all = Vec::new();
    for values in Values::ALL {
        let mut layouts = vec![aligned, longer, short];
        if values == Values::Normal || values.single().is_some() {
            layouts.push((own, Layout::Padded, own / 2));
            layouts.push((own - 1, Layout::Contiguous, 0));
        }
        for (row, layout, place) in layouts.into_iter().filter(|(row, ..)| *row > 0) {
            let (fewest, most) = ROWS;
            let context = with_rows(context, (ELEMENTS / row).clamp(fewest, most), row);
            all.push(Small { context, values, layout, place });
        }
    }
    all.push(shared);
    all
}

/// The case's own, or one below the longest that is as divisible.
fn dimension(own: u64) -> u64 {
    if own <= LONGEST { own.max(1) } else { LONGEST - WIDEST + own % WIDEST }
}

/// The context with this many rows of this dimension.
fn with_rows(
    context: &KernelContext<OperatorWork>,
    rows: u64,
    tensor_dimension: u64,
) -> KernelContext<OperatorWork> {
    let size = OperatorShape { batch_size: 1, sequence_length: rows, tensor_dimension };
    KernelContext { work: OperatorWork { size, ..context.work }, ..*context }
}

impl Small {
    /// As the record names it.
    pub(super) fn name(&self) -> String {
        match self.layout {
            Layout::Contiguous => self.values.name().to_owned(),
            Layout::Padded => format!("{}, padded rows", self.values.name()),
        }
    }

    /// Whether its values are others than normally distributed ones.
    pub(super) fn is_special(&self) -> bool {
        self.values != Values::Normal
    }

    /// The inputs of this formula, drawn from torch's default generator.
    pub(super) fn draw(&self, formula: impl Formula) -> Result<Inputs, Refusal> {
        let held = Float::for_dtype(held_in(formula, &self.context));
        let largest = formula.largest(&self.context, held);
        let mut inputs =
            draw(formula.operands(), &self.context, &|size| Ok(self.like_x(size, largest)?))?;
        if let Some(value) = self.values.single() {
            let row = self.context.work.size.rows() / 2;
            let row = inputs.examples[0].f_select(1, inputs::dimension(row)?)?;
            drop(row.f_select(-1, inputs::dimension(self.place)?)?.f_fill_(value)?);
        }
        if self.layout == Layout::Padded {
            for tensor in inputs.examples.iter_mut().chain(&mut inputs.parameters) {
                if tensor.f_is_floating_point()? {
                    *tensor = padded(tensor)?;
                }
            }
        }
        Ok(inputs)
    }

    /// Drawn in float64, so that nothing is flushed on the way; `largest` is that of [`Values::Huge`].
    fn like_x(&self, size: &[u64], largest: f64) -> Result<Tensor, TchError> {
        let float = Float::for_dtype(self.context.dtype);
        let size: Vec<_> =
            size.iter().map(|&it| inputs::dimension(it)).collect::<Result<_, _>>()?;
        let options = (Kind::Double, Device::Cpu);
        let normal = || Tensor::f_randn(&size, options);
        let uniform = |bound: f64| Tensor::f_empty(&size, options)?.f_uniform_(-bound, bound);
        let values = match self.values {
            Values::Normal | Values::Nan | Values::Infinity | Values::MinusInfinity => normal()?,
            Values::Small => normal()?.f_mul_scalar(f64::exp2(-9.0))?,
            Values::Denormal => uniform(float.smallest_normal())?,
            Values::Huge => uniform(largest)?,
            Values::Offset => normal()?.f_sub_scalar(float.coarse().min(largest))?,
            Values::Constant => normal()?.f_narrow(-1, 0, 1)?.f_expand(&size, false)?,
            Values::Zero => normal()?.f_mul_scalar(0.0)?,
        };
        values
            .f_to_kind(self.context.kind())?
            .f_contiguous()?
            .f_to_device(self.context.torch_device)
    }
}

/// A view of a wider tensor that holds NaN beside it.
fn padded(tensor: &Tensor) -> Result<Tensor, TchError> {
    let (before, after) = PADDING;
    let mut size = tensor.size();
    let Some(last) = size.last_mut() else { return Ok(tensor.shallow_clone()) };
    let row = *last;
    *last += before + after;
    let wider = Tensor::f_full(&size, f64::NAN, (tensor.f_kind()?, tensor.device()))?;
    let mut view = wider.f_narrow(-1, before, row)?;
    view.f_copy_(tensor)?;
    Ok(view)
}

#[cfg(test)]
#[path = "trial_tests.rs"]
mod tests;
